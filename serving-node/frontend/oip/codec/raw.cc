#include "serving-node/frontend/oip/codec/raw.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "serving-node/frontend/oip/codec/datatype.h"

namespace longshore::frontend::oip::codec {
namespace {

using tensor::DType;
using tensor::Tensor;

static_assert(std::endian::native == std::endian::little, "tensors are copied as they are in memory");

constexpr size_t kLengthBytes = sizeof(uint32_t);

// Removes and returns the first element; nullopt if the bytes are cut off.
std::optional<std::string_view> TakeText(std::string_view* bytes) {
  uint32_t length = 0;
  if (bytes->size() < kLengthBytes) return std::nullopt;
  std::memcpy(&length, bytes->data(), kLengthBytes);
  bytes->remove_prefix(kLengthBytes);
  if (bytes->size() < length) return std::nullopt;
  const std::string_view text = bytes->substr(0, length);
  bytes->remove_prefix(length);
  return text;
}

tl::unexpected<Error> WrongCount(const InputHead& head, int64_t expected, int64_t given) {
  return InvalidArgument("expected {} string elements for inference input '{}' of model '{}', got {}", expected,
                         head.name, head.model, given);
}

// Returns InvalidArgument if the bytes are not exactly `count` elements.
Status CheckTexts(const InputHead& head, std::string_view bytes, int64_t count) {
  int64_t given = 0;
  for (; !bytes.empty(); ++given) {
    if (TakeText(&bytes)) continue;
    return InvalidArgument("incomplete string data for inference input '{}' of model '{}': element {} is cut off",
                           head.name, head.model, given);
  }
  if (given != count) return WrongCount(head, count, given);
  return {};
}

Result<Tensor> TextsFromRaw(const InputHead& head, std::string_view bytes, int64_t count) {
  RETURN_IF_ERROR(CheckTexts(head, bytes, count));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(head.type, head.shape));
  for (std::string& text : tensor.mutable_values<std::string>()) text = *TakeText(&bytes);
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

Result<Tensor> FromRaw(const InputHead& head, std::string_view bytes, ElementBudget* budget) {
  ASSIGN_OR_RETURN(const int64_t count, budget->Take(head));
  if (head.type == DType::kString) return TextsFromRaw(head, bytes, count);
  const size_t expected = static_cast<size_t>(count) * tensor::ElementBytes(head.type);
  if (bytes.size() != expected) {
    return InvalidArgument("input byte size mismatch for input '{}' for model '{}'. Expected {}, got {}", head.name,
                           head.model, expected, bytes.size());
  }
  const auto above_one = [](char c) { return static_cast<unsigned char>(c) > 1; };
  if (head.type == DType::kBool && std::ranges::any_of(bytes, above_one)) {
    return InvalidArgument("input '{}' of datatype BOOL has a byte that is neither 0 nor 1", head.name);
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(head.type, head.shape));
  if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  return tensor;
}

std::string ToRaw(const Tensor& tensor) {
  if (tensor.type() == DType::kString) return TextsToRaw(tensor);
  return {reinterpret_cast<const char*>(tensor.data()), tensor.bytes()};
}

}  // namespace longshore::frontend::oip::codec
