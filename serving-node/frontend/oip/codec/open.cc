#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <utility>

#include "common/binary_proto/binary_proto.h"
#include "serving-node/frontend/oip/codec/proto.h"
#include "serving-node/inference/wire.h"
#include "serving-node/tensor/wire.h"

namespace longshore::frontend::oip::codec {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using ::inference::ModelInferRequest;
using longshore::inference::DelimitedTag;
using InputTensor = ModelInferRequest::InferInputTensor;

// The largest message that generated code reads as a whole. It may take 40 times as much memory.
constexpr size_t kGeneratedBytesMax = size_t{64} << 10;

// Separates the elements of a request from the rest, the head.
class Opener {
 public:
  explicit Opener(OpenedRequest* request) : opened_(*request), reader_(opened_.bytes), in_(reader_.in()) {}

  // Returns false if the bytes are not a request as serializers write it.
  Result<bool> Read() {
    const auto read = ReadFields();
    head_.resize(std::min(head_.size(), kHeadBytesMax));  // After an error it may be larger.
    const bool is_head = ParseBinaryProto(head_, &opened_.head);
    return read.map([&](bool all) { return all && is_head; });
  }

 private:
  Result<bool> ReadFields() {
    uint32_t tag = 0;
    while (ReadTag(&in_, &tag)) {
      if (tag == 0) return true;
      ASSIGN_OR_RETURN(const bool is_read, ReadField(tag));
      if (!is_read) return false;
      if (head_.size() > kHeadBytesMax) return TooLong();
    }
    return false;
  }

  Result<bool> ReadField(uint32_t tag) {
    switch (tag) {
      case DelimitedTag(ModelInferRequest::kInputsFieldNumber):
        if (opened_.contents.size() == kTensorsMax) return TooMany("inputs");
        return ReadInput();
      case DelimitedTag(ModelInferRequest::kRawInputContentsFieldNumber):
        if (opened_.raw_contents.size() == kTensorsMax) return TooMany("raw_input_contents");
        return SkipSpan(&opened_.raw_contents.emplace_back());
      case DelimitedTag(ModelInferRequest::kOutputsFieldNumber):
        if (outputs_++ == kTensorsMax) return TooMany("outputs");
        return CopyField(tag, &head_);
      default: return CopyField(tag, &head_);
    }
  }

  static tl::unexpected<Error> TooMany(std::string_view what) {
    return InvalidArgument("the request has more than {} {}", kTensorsMax, what);
  }

  static tl::unexpected<Error> TooLong() {
    return ResourceExhausted("the request has more than {} bytes besides its elements", kHeadBytesMax);
  }

  Result<bool> ReadInput() {
    int size = 0;
    if (!ReadSize(&in_, &size)) return false;
    const auto limit = in_.PushLimit(size);
    std::optional<Contents>& contents = opened_.contents.emplace_back();
    std::string input;
    uint32_t tag = 0;
    bool is_read = true;
    while (is_read && (is_read = ReadTag(&in_, &tag)) && tag != 0) {
      const bool is_contents = tag == DelimitedTag(InputTensor::kContentsFieldNumber);
      is_read = is_contents ? !contents && ReadContents(&contents.emplace()) : CopyField(tag, &input);
      if (input.size() > kHeadBytesMax) return TooLong();
    }
    in_.PopLimit(limit);
    longshore::inference::AppendText(ModelInferRequest::kInputsFieldNumber, input, &head_);
    return is_read;
  }

  bool ReadContents(Contents* contents) {
    int size = 0;
    if (!ReadSize(&in_, &size)) return false;
    contents->at = {.begin = static_cast<size_t>(in_.CurrentPosition()), .size = static_cast<size_t>(size)};
    const auto limit = in_.PushLimit(size);
    const bool is_read = CountElements(&in_, &contents->counts);
    in_.PopLimit(limit);
    return is_read;
  }

  bool SkipSpan(Span* span) {
    int size = 0;
    if (!ReadSize(&in_, &size)) return false;
    *span = {.begin = static_cast<size_t>(in_.CurrentPosition()), .size = static_cast<size_t>(size)};
    return in_.Skip(size);
  }

  bool CopyField(uint32_t tag, std::string* out) {
    uint64_t number = 0;
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED: return CopyDelimited(tag, out);
      case WireFormatLite::WIRETYPE_VARINT:
        if (!in_.ReadVarint64(&number)) return false;
        tensor::AppendVarint(tag, out);
        tensor::AppendVarint(number, out);
        return true;
      default: return CopyUnknown(tag, out);
    }
  }

  // Copies a field as far as a head may be long.
  bool CopyDelimited(uint32_t tag, std::string* out) {
    int size = 0;
    if (!ReadSize(&in_, &size)) return false;
    tensor::AppendVarint(tag, out);
    tensor::AppendVarint(static_cast<uint64_t>(size), out);
    const size_t before = out->size();
    const auto copied = std::min(static_cast<size_t>(size), kHeadBytesMax + 1);
    out->resize(before + copied);
    return in_.ReadRaw(out->data() + before, static_cast<int>(copied)) && in_.Skip(size - static_cast<int>(copied));
  }

  // Copies a field of a type that the message does not use: a group, or a number of fixed size.
  bool CopyUnknown(uint32_t tag, std::string* out) {
    std::string field;
    {
      google::protobuf::io::StringOutputStream stream(&field);
      google::protobuf::io::CodedOutputStream copied(&stream);
      if (!WireFormatLite::SkipField(&in_, tag, &copied)) return false;
    }
    out->append(field);
    return true;
  }

  OpenedRequest& opened_;
  PiecesReader reader_;
  CodedInputStream& in_;
  std::string head_;
  size_t outputs_ = 0;
};

Status Malformed(const OpenedRequest& request, size_t bytes) {
  return tl::make_unexpected(longshore::inference::Malformed(request.head, bytes));
}

}  // namespace

Status Open(Pieces bytes, OpenedRequest* request) {
  const size_t size = bytes.size();
  *request = {.bytes = std::move(bytes)};
  ASSIGN_OR_RETURN(bool is_read, Opener(request).Read());
  if (is_read) return {};
  if (size > kGeneratedBytesMax) return Malformed(*request, size);
  ModelInferRequest message;
  if (!ParseBinaryProto(request->bytes, &message)) return Malformed(*request, size);
  message.DiscardUnknownFields();
  *request = {.bytes = Pieces(message.SerializeAsString())};
  ASSIGN_OR_RETURN(is_read, Opener(request).Read());
  return is_read ? Status() : Malformed(*request, size);
}

}  // namespace longshore::frontend::oip::codec
