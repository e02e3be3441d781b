#include "serving-node/inference/request.h"

#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <utility>

#include "common/binary_proto/binary_proto.h"
#include "serving-node/tensor/wire.h"

namespace longshore::inference {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using tensor::WireTensor;
using tensorflow::serving::ModelSpec;
using tensorflow::serving::PredictRequest;

// Takes the elements of a tensor from those that are left. Ignores a tensor whose shape is not valid, which is refused
// when its values are read.
Status TakeElements(std::optional<int64_t> elements, int64_t elements_max, int64_t* left) {
  if (!elements) return {};
  *left -= std::min(*left + 1, *elements);
  if (*left < 0) return ResourceExhausted("the inputs have more than {} elements", elements_max);
  return {};
}

}  // namespace

Request::Request(ModelSpec spec, engine::TensorMap inputs, std::vector<std::string> outputs)
    : has_spec_(true), spec_(std::move(spec)), outputs_(std::move(outputs)), inputs_(std::move(inputs)) {}

Result<Request> Request::Parse(Pieces bytes) {
  Request request;
  request.bytes_ = std::move(bytes);
  if (request.ReadFields(OtherFields::kFail)) return request;
  // Generated code reads what serializers do not write, such as an input that occurs twice, and writes it in the usual
  // form.
  PredictRequest message;
  if (!ParseBinaryProto(request.bytes_, &message))
    return tl::make_unexpected(Malformed(message, request.bytes_.size()));
  message.DiscardUnknownFields();
  return Parse(message);
}

Result<Request> Request::Parse(const PredictRequest& message) {
  Request request;
  request.bytes_ = Pieces(message.SerializeAsString());
  if (!request.ReadFields(OtherFields::kSkip)) return tl::make_unexpected(Malformed(message, request.bytes_.size()));
  return request;
}

ModelSpec* Request::mutable_model_spec() {
  CHECK(bytes_.empty());
  has_spec_ = true;
  return &spec_;
}

void Request::AddOutput(std::string name) {
  CHECK(bytes_.empty());
  outputs_.push_back(std::move(name));
}

// Returns false if generated code has to read the message.
bool Request::ReadFields(OtherFields others) {
  has_spec_ = false;
  spec_.Clear();
  outputs_.clear();
  entries_.clear();
  PiecesReader reader(bytes_);
  CodedInputStream& in = reader.in();
  while (const uint32_t tag = in.ReadTag()) {
    if (!ReadField(&in, tag, others)) return false;
  }
  if (!in.ConsumedEntireMessage()) return false;
  std::ranges::sort(entries_, {}, &TensorEntry::name);
  return std::ranges::adjacent_find(entries_, {}, &TensorEntry::name) == entries_.end();
}

bool Request::ReadField(CodedInputStream* in, uint32_t tag, OtherFields others) {
  switch (tag) {
    case DelimitedTag(PredictRequest::kModelSpecFieldNumber):
      return !std::exchange(has_spec_, true) && ReadMessage(in, &spec_);
    case DelimitedTag(PredictRequest::kInputsFieldNumber): {
      auto entry = ReadEntry(in);
      if (entry) entries_.push_back(std::move(*entry));
      return entry.has_value();
    }
    case DelimitedTag(PredictRequest::kOutputFilterFieldNumber): return ReadText(in, &outputs_.emplace_back());
    default: return others == OtherFields::kSkip && WireFormatLite::SkipField(in, tag);
  }
}

std::vector<std::string_view> Request::input_names() const {
  std::vector<std::string_view> names;
  names.reserve(input_count());
  for (const TensorEntry& entry : entries_) names.emplace_back(entry.name);
  for (const auto& [name, values] : inputs_) names.emplace_back(name);
  return names;
}

bool Request::HasInput(std::string_view name) const {
  const auto entry = std::ranges::lower_bound(entries_, name, {}, &TensorEntry::name);
  return (entry != entries_.end() && entry->name == name) ||
         std::ranges::any_of(inputs_, [&](const auto& input) { return input.first == name; });
}

Result<engine::TensorMap> Request::ReadInputs(int64_t elements_max, size_t filled_bytes_max) const {
  int64_t left = elements_max;
  for (const auto& [name, values] : inputs_) RETURN_IF_ERROR(TakeElements(values.elements(), elements_max, &left));
  engine::TensorMap inputs = inputs_;
  std::vector<WireTensor> opened;
  opened.reserve(entries_.size());
  for (const TensorEntry& entry : entries_) {
    auto one = WireTensor::Open(bytes_, entry.begin, entry.size);
    if (!one) return InvalidArgument("tensor parsing error: {}", entry.name);
    RETURN_IF_ERROR(TakeElements(one->elements(), elements_max, &left));
    opened.push_back(std::move(*one));
  }
  for (size_t i = 0; i < opened.size(); ++i) {
    auto values = opened[i].Read(filled_bytes_max);
    if (!values) return InvalidArgument("tensor parsing error: {}", entries_[i].name);
    inputs.emplace_hint(inputs.end(), entries_[i].name, std::move(*values));
  }
  return inputs;
}

Request Request::Detached() const {
  Request detached = *this;
  if (!bytes_.empty()) detached.bytes_ = Pieces(bytes_.ToString());
  return detached;
}

size_t Request::bytes() const { return bytes_.size() + engine::Bytes(inputs_); }

Pieces Request::ToPieces() const {
  if (!bytes_.empty()) return bytes_;
  PiecesBuilder builder;
  if (has_spec_) AppendMessage(PredictRequest::kModelSpecFieldNumber, spec_, &builder.copied());
  AppendEntries(PredictRequest::kInputsFieldNumber, inputs_, tensor::Encoding::kContent, &builder);
  for (const std::string& output : outputs_)
    AppendText(PredictRequest::kOutputFilterFieldNumber, output, &builder.copied());
  return builder.Build();
}

}  // namespace longshore::inference
