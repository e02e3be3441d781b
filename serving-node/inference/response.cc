#include "serving-node/inference/response.h"

#include <google/protobuf/wire_format_lite.h>

#include "common/binary_proto/binary_proto.h"
#include "serving-node/inference/wire.h"
#include "serving-node/tensor/wire.h"

namespace longshore::inference {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using tensorflow::serving::ModelSpec;
using tensorflow::serving::PredictResponse;

}  // namespace

Pieces ResponseOf(const ModelSpec& spec, const engine::TensorMap& outputs, tensor::Encoding encoding) {
  PiecesBuilder builder;
  AppendEntries(PredictResponse::kOutputsFieldNumber, outputs, encoding, &builder);
  AppendMessage(PredictResponse::kModelSpecFieldNumber, spec, &builder.copied());
  return builder.Build();
}

ModelSpec SpecOf(const Pieces& response) {
  PiecesReader reader(response);
  CodedInputStream& in = reader.in();
  ModelSpec spec;
  while (const uint32_t tag = in.ReadTag()) {
    const bool is_spec = tag == DelimitedTag(PredictResponse::kModelSpecFieldNumber);
    if (is_spec ? !ReadMessage(&in, &spec) : !WireFormatLite::SkipField(&in, tag)) return {};
  }
  if (!in.ConsumedEntireMessage()) return {};
  return spec;
}

Result<engine::TensorMap> OutputsOf(const Pieces& response) {
  const auto malformed = [] { return Internal("the bytes are not a PredictResponse"); };
  PiecesReader reader(response);
  CodedInputStream& in = reader.in();
  engine::TensorMap outputs;
  while (const uint32_t tag = in.ReadTag()) {
    if (tag != DelimitedTag(PredictResponse::kOutputsFieldNumber)) {
      if (!WireFormatLite::SkipField(&in, tag)) return malformed();
      continue;
    }
    const auto entry = ReadEntry(&in);
    const auto opened = entry ? tensor::WireTensor::Open(response, entry->begin, entry->size) : std::nullopt;
    if (!opened) return malformed();
    ASSIGN_OR_RETURN(outputs[entry->name], opened->Read(tensor::kFilledBytesMaxForConstants));
  }
  if (!in.ConsumedEntireMessage()) return malformed();
  return outputs;
}

}  // namespace longshore::inference
