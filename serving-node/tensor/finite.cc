#include "serving-node/tensor/finite.h"

#include <cstring>

namespace longshore::tensor {
namespace {

// A float is NaN or Inf if and only if all its exponent bits are set. The loop has no early exit, so that compilers
// vectorise it.
template <typename Bits, Bits kExponent>
bool AnyNonFinite(const Tensor& values) {
  unsigned found = 0;
  const std::byte* data = values.data();
  for (int64_t i = 0; i < values.elements(); ++i) {
    Bits bits;
    std::memcpy(&bits, data + static_cast<size_t>(i) * sizeof(Bits), sizeof(Bits));
    found |= (bits & kExponent) == kExponent ? 1u : 0u;
  }
  return found != 0;
}

}  // namespace

bool HasNonFinite(const Tensor& values) {
  switch (values.type()) {
    case DType::kFloat: return AnyNonFinite<uint32_t, 0x7F800000u>(values);
    case DType::kDouble: return AnyNonFinite<uint64_t, 0x7FF0000000000000u>(values);
    case DType::kHalf: return AnyNonFinite<uint16_t, 0x7C00u>(values);
    case DType::kBfloat16: return AnyNonFinite<uint16_t, 0x7F80u>(values);
    default: return false;
  }
}

}  // namespace longshore::tensor
