#include "serving-node/saved_model/slices.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <vector>

namespace longshore::saved_model {
namespace {

using tensor::Shape;
using tensor::Tensor;

Status CheckWithin(int64_t start, int64_t size, int64_t whole) {
  if (start >= 0 && size >= 0 && start <= whole && size <= whole - start) return {};
  return InvalidArgument("a part of size {} that starts at {} is not within the size {}", size, start, whole);
}

bool TakeNumber(std::string_view* text, char end, int64_t* number) {
  const size_t length = std::min(text->find(end), text->size());
  const auto [at, error] = std::from_chars(text->data(), text->data() + length, *number);
  if (error != std::errc() || at != text->data() + length) return false;
  text->remove_prefix(std::min(length + 1, text->size()));
  return true;
}

// Appends the number of bytes of the value, and then these bytes, the most significant one first.
void AppendUnsigned(uint64_t value, std::string* key) {
  const int bytes = (static_cast<int>(std::bit_width(value)) + 7) / 8;
  key->push_back(static_cast<char>(bytes));
  for (int i = bytes - 1; i >= 0; --i) key->push_back(static_cast<char>(value >> (8 * i)));
}

// Appends the text with escapes: 0 becomes 0 255, and 255 becomes 255 0. The bytes 0 1 mark its end.
void AppendText(std::string_view text, std::string* key) {
  for (const char c : text) {
    key->push_back(c);
    if (c == '\0') key->push_back('\xff');
    if (c == '\xff') key->push_back('\0');
  }
  key->append({'\0', '\1'});
}

// Appends `value` in n bytes, with n as small as possible. The bytes begin with n equal bits (1 if the value is >= 0, 0
// if it is negative) and one bit with the opposite value. The other bits hold the value.
void AppendSigned(int64_t value, std::string* key) {
  const uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  const int length = (static_cast<int>(std::bit_width(magnitude)) + 7) / 7;
  std::string bytes(static_cast<size_t>(length), value < 0 ? '\xff' : '\0');
  for (int i = 0; i < std::min(length, 8); ++i)
    bytes[static_cast<size_t>(length - 1 - i)] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  for (int bit = 0; bit < length; ++bit) {
    char& byte = bytes[static_cast<size_t>(bit / 8)];
    byte = static_cast<char>(byte ^ (0x80 >> (bit % 8)));
  }
  key->append(bytes);
}

// Copies `count` elements of any type from index `first` of `from` to index `to_first` of `to`.
void CopyRun(const Tensor& from, int64_t first, int64_t count, int64_t to_first, Tensor* to) {
  if (from.type() == tensor::DType::kString) {
    const auto values = from.values<std::string>().subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    std::ranges::copy(values, to->mutable_values<std::string>().begin() + to_first);
    return;
  }
  const size_t bytes = tensor::ElementBytes(from.type());
  std::memcpy(to->mutable_data() + static_cast<size_t>(to_first) * bytes,
              from.data() + static_cast<size_t>(first) * bytes, static_cast<size_t>(count) * bytes);
}

// Returns the row-major offset, within the part at `place`, of the element that has the index `element` in the whole
// tensor.
int64_t OffsetIn(const Slice& place, const Shape& element) {
  int64_t offset = 0;
  for (size_t i = 0; i < element.size(); ++i) offset = offset * place.sizes[i] + element[i] - place.starts[i];
  return offset;
}

}  // namespace

Slice WholeOf(const Shape& shape) { return {Shape(shape.size(), 0), shape}; }

bool Overlap(const Slice& a, const Slice& b) {
  for (size_t i = 0; i < a.starts.size(); ++i) {
    const int64_t begin = std::max(a.starts[i], b.starts[i]);
    if (begin >= std::min(a.starts[i] + a.sizes[i], b.starts[i] + b.sizes[i])) return false;
  }
  return true;
}

Result<Slice> SliceFromProto(const tensorflow::TensorSliceProto& proto, const Shape& whole) {
  if (proto.extent_size() != static_cast<int>(whole.size()))
    return InvalidArgument("a part with {} dimensions does not fit the shape {}", proto.extent_size(),
                           tensor::ToString(whole));
  Slice slice;
  for (int i = 0; i < proto.extent_size(); ++i) {
    const auto& extent = proto.extent(i);
    const int64_t size = whole[static_cast<size_t>(i)];
    const bool is_all = extent.has_length_case() == tensorflow::TensorSliceProto::Extent::HAS_LENGTH_NOT_SET;
    slice.starts.push_back(is_all ? 0 : extent.start());
    slice.sizes.push_back(is_all ? size : extent.length());
    RETURN_IF_ERROR(CheckWithin(slice.starts.back(), slice.sizes.back(), size));
  }
  return slice;
}

Result<SliceSpec> ParseSlice(std::string_view text) {
  const auto wrong = [whole = text] {
    return InvalidArgument("\"{}\" is not a valid slice: expected a shape and a part, such as \"10 4 0,5:-\"", whole);
  };
  const size_t last = text.find_last_of(' ');
  if (last == text.npos) return wrong();
  std::string_view sizes = text.substr(0, last), parts = text.substr(last + 1);
  SliceSpec spec;
  while (!sizes.empty()) {
    int64_t whole = 0, start = 0;
    if (spec.whole.size() == tensor::kRankMax || !TakeNumber(&sizes, ' ', &whole)) return wrong();
    int64_t size = whole;
    if (parts.starts_with('-')) {
      parts.remove_prefix(std::min<size_t>(2, parts.size()));
    } else if (!TakeNumber(&parts, ',', &start) || !TakeNumber(&parts, ':', &size)) {
      return wrong();
    }
    RETURN_IF_ERROR(CheckWithin(start, size, whole));
    spec.whole.push_back(whole);
    spec.part.starts.push_back(start);
    spec.part.sizes.push_back(size);
  }
  if (!parts.empty()) return wrong();
  return spec;
}

std::string SliceKey(std::string_view name, const tensorflow::TensorSliceProto& slice) {
  std::string key;
  AppendUnsigned(0, &key);
  AppendText(name, &key);
  AppendUnsigned(static_cast<uint64_t>(slice.extent_size()), &key);
  for (const auto& extent : slice.extent()) {
    const bool is_all = extent.has_length_case() == tensorflow::TensorSliceProto::Extent::HAS_LENGTH_NOT_SET;
    AppendSigned(is_all ? 0 : extent.start(), &key);
    AppendSigned(is_all ? -1 : extent.length(), &key);
  }
  return key;
}

bool IsSliceKey(std::string_view key) { return key.starts_with('\0'); }

void CopyOverlap(const Tensor& from, const Slice& from_place, const Slice& to_place, Tensor* to) {
  Shape begin, end;
  for (size_t i = 0; i < from_place.starts.size(); ++i) {
    begin.push_back(std::max(from_place.starts[i], to_place.starts[i]));
    end.push_back(std::min(from_place.starts[i] + from_place.sizes[i], to_place.starts[i] + to_place.sizes[i]));
    if (begin[i] >= end[i]) return;
  }
  const int64_t run = begin.empty() ? 1 : end.back() - begin.back();
  Shape at = begin;
  while (true) {
    CopyRun(from, OffsetIn(from_place, at), run, OffsetIn(to_place, at), to);
    size_t axis = at.empty() ? 0 : at.size() - 1;
    for (; axis > 0 && ++at[axis - 1] == end[axis - 1]; --axis) at[axis - 1] = begin[axis - 1];
    if (axis == 0) return;
  }
}

}  // namespace longshore::saved_model
