#include "serving-node/frontend/oip/codec/raw.h"

#include <algorithm>
#include <bit>

#include "common/binary_proto/binary_proto.h"
#include "serving-node/frontend/oip/codec/datatype.h"
#include "serving-node/tensor/wire.h"

namespace longshore::frontend::oip::codec {
namespace {

using google::protobuf::io::CodedInputStream;
using tensor::DType;
using tensor::Tensor;

static_assert(std::endian::native == std::endian::little, "tensors are copied as they are in memory");

constexpr size_t kLengthBytes = sizeof(uint32_t);

// Reads the length of the next element. Returns false if the element is cut off.
bool ReadLength(CodedInputStream* in, int* length) {
  uint32_t read = 0;
  if (!in->ReadLittleEndian32(&read) || read > static_cast<uint32_t>(in->BytesUntilLimit())) return false;
  *length = static_cast<int>(read);
  return true;
}

tl::unexpected<Error> WrongCount(const InputHead& head, int64_t expected, int64_t given) {
  return InvalidArgument("expected {} string elements for inference input '{}' of model '{}', got {}", expected,
                         head.name, head.model, given);
}

// Returns InvalidArgument if the bytes are not exactly `count` elements.
Status CheckTexts(const InputHead& head, CodedInputStream* in, int64_t count) {
  int64_t given = 0;
  int length = 0;
  for (; in->BytesUntilLimit() > 0; ++given) {
    if (ReadLength(in, &length) && in->Skip(length)) continue;
    return InvalidArgument("incomplete string data for inference input '{}' of model '{}': element {} is cut off",
                           head.name, head.model, given);
  }
  if (given != count) return WrongCount(head, count, given);
  return {};
}

Result<Tensor> TextsFromRaw(const InputHead& head, const Pieces& bytes, Span at, int64_t count) {
  RETURN_IF_ERROR(CheckTexts(head, &PiecesReader(bytes, at.begin, at.size).in(), count));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(head.type, head.shape));
  PiecesReader reader(bytes, at.begin, at.size);
  int length = 0;
  for (std::string& text : tensor.mutable_values<std::string>())
    CHECK(ReadLength(&reader.in(), &length) && reader.in().ReadString(&text, length));
  return tensor;
}

std::string TextsToRaw(const Tensor& tensor) {
  std::string bytes;
  for (const std::string& text : tensor.values<std::string>()) {
    const auto length = static_cast<uint32_t>(text.size());
    bytes.append(reinterpret_cast<const char*>(&length), kLengthBytes).append(text);
  }
  return bytes;
}

}  // namespace

Result<int64_t> ElementBudget::Take(const InputHead& head) {
  const auto count = tensor::ElementCount(head.shape);
  if (!count) return InvalidArgument("input '{}': {}", head.name, count.error().message);
  tensor::Shape filled = head.shape;
  std::ranges::replace(filled, int64_t{0}, int64_t{1});
  const auto filled_count = tensor::ElementCount(filled);
  if (*count > left_ || !filled_count || *filled_count > max_)
    return ResourceExhausted("the inputs have more than {} elements", max_);
  left_ -= *count;
  return *count;
}

Status SetDatatype(std::string_view name, InputHead* head) {
  const auto type = DatatypeOf(name);
  if (!type) return InvalidArgument("invalid datatype for input '{}': '{}'", head->name, name.substr(0, 64));
  head->type = *type;
  return {};
}

Result<Tensor> FromRaw(const InputHead& head, const Pieces& bytes, Span at, ElementBudget* budget) {
  ASSIGN_OR_RETURN(const int64_t count, budget->Take(head));
  if (head.type == DType::kString) return TextsFromRaw(head, bytes, at, count);
  const size_t expected = static_cast<size_t>(count) * tensor::ElementBytes(head.type);
  if (at.size != expected) {
    return InvalidArgument("input byte size mismatch for input '{}' for model '{}'. Expected {}, got {}", head.name,
                           head.model, expected, at.size);
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(head.type, head.shape));
  PiecesReader reader(bytes, at.begin, at.size);
  CHECK(reader.in().ReadRaw(tensor.mutable_data(), static_cast<int>(at.size)));
  const auto above_one = [](std::byte byte) { return byte > std::byte{1}; };
  if (head.type == DType::kBool && std::any_of(tensor.data(), tensor.data() + at.size, above_one)) {
    return InvalidArgument("input '{}' of datatype BOOL has a byte that is neither 0 nor 1", head.name);
  }
  return tensor;
}

Result<Tensor> FromRaw(const InputHead& head, std::string_view bytes, ElementBudget* budget) {
  Pieces pieces;
  pieces.Add(bytes, nullptr);
  return FromRaw(head, pieces, {.begin = 0, .size = bytes.size()}, budget);
}

Result<Tensor> FromRawBody(InputHead head, std::string_view body, ElementBudget* budget) {
  const auto open = std::ranges::find(head.shape, -1);
  const bool is_open = open != head.shape.end();
  if (is_open) *open = 1;
  const auto row = tensor::ElementCount(head.shape);
  const bool is_text = head.type == DType::kString;
  if (!row || (is_text && *row != 1)) {
    return InvalidArgument("a body without JSON cannot have the shape {} of input '{}' of model '{}'",
                           tensor::ToString(head.shape), head.name, head.model);
  }
  if (is_text) {
    RETURN_IF_ERROR(budget->Take(head));
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(head.type, head.shape));
    tensor.mutable_values<std::string>().front() = body;
    return tensor;
  }
  const size_t row_bytes = static_cast<size_t>(*row) * tensor::ElementBytes(head.type);
  if (is_open && row_bytes > 0) *open = static_cast<int64_t>(body.size() / row_bytes);
  return FromRaw(head, body, budget);
}

std::string ToRaw(const Tensor& tensor) {
  if (tensor.type() == DType::kString) return TextsToRaw(tensor);
  return {reinterpret_cast<const char*>(tensor.data()), tensor.bytes()};
}

}  // namespace longshore::frontend::oip::codec
