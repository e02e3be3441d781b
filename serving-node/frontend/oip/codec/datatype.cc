#include "serving-node/frontend/oip/codec/datatype.h"

#include <algorithm>
#include <array>

namespace longshore::frontend::oip::codec {
namespace {

using tensor::DType;

struct Datatype {
  DType type;
  std::string_view name;
  ::inference::DataType config;
};

constexpr std::array kDatatypes = {
    Datatype{DType::kBool, "BOOL", ::inference::TYPE_BOOL},
    Datatype{DType::kUint8, "UINT8", ::inference::TYPE_UINT8},
    Datatype{DType::kUint16, "UINT16", ::inference::TYPE_UINT16},
    Datatype{DType::kUint32, "UINT32", ::inference::TYPE_UINT32},
    Datatype{DType::kUint64, "UINT64", ::inference::TYPE_UINT64},
    Datatype{DType::kInt8, "INT8", ::inference::TYPE_INT8},
    Datatype{DType::kInt16, "INT16", ::inference::TYPE_INT16},
    Datatype{DType::kInt32, "INT32", ::inference::TYPE_INT32},
    Datatype{DType::kInt64, "INT64", ::inference::TYPE_INT64},
    Datatype{DType::kHalf, "FP16", ::inference::TYPE_FP16},
    Datatype{DType::kFloat, "FP32", ::inference::TYPE_FP32},
    Datatype{DType::kDouble, "FP64", ::inference::TYPE_FP64},
    Datatype{DType::kString, "BYTES", ::inference::TYPE_STRING},
    Datatype{DType::kBfloat16, "BF16", ::inference::TYPE_BF16},
};

}  // namespace

std::string_view DatatypeName(DType type) {
  const auto found = std::ranges::find(kDatatypes, type, &Datatype::type);
  return found == kDatatypes.end() ? "" : found->name;
}

std::optional<DType> DatatypeOf(std::string_view name) {
  const auto found = std::ranges::find(kDatatypes, name, &Datatype::name);
  if (found == kDatatypes.end()) return std::nullopt;
  return found->type;
}

::inference::DataType ConfigTypeOf(DType type) {
  const auto found = std::ranges::find(kDatatypes, type, &Datatype::type);
  return found == kDatatypes.end() ? ::inference::TYPE_INVALID : found->config;
}

}  // namespace longshore::frontend::oip::codec
