// Kernels for byte strings: upper and lower case, length, strip and substrings.
#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <optional>

#include "serving-node/engine/kernels/base/ints.h"
#include "serving-node/engine/kernels/base/texts.h"
#include "serving-node/engine/kernels/text/families.h"

namespace longshore::engine::kernels::text {
namespace {

// Used if the op has no encoding: only ASCII letters change their case.
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

template <char (*kChange)(char)>
std::string ChangeCharacters(const std::string& text) {
  auto unicode = icu::UnicodeString::fromUTF8(text);
  std::string changed;
  if constexpr (kChange == Lower)
    unicode.toLower(icu::Locale::getRoot()).toUTF8String(changed);
  else
    unicode.toUpper(icu::Locale::getRoot()).toUTF8String(changed);
  return changed;
}

template <char (*kChange)(char)>
Outputs ChangeCase(const Call& call) {
  RETURN_IF_ERROR(CheckTexts(call));
  const bool is_unicode = call.attributes().Text("encoding", "") == "utf-8";
  return UnaryOf<std::string>(call, [&](std::string text) {
    if (is_unicode) return ChangeCharacters<kChange>(text);
    std::transform(text.begin(), text.end(), text.begin(), kChange);
    return text;
  });
}

Outputs Strip(const Call& call) {
  RETURN_IF_ERROR(CheckTexts(call));
  return UnaryOf<std::string>(call, [](const std::string& text) {
    constexpr const char* kSpace = " \t\n\v\f\r";
    const size_t begin = text.find_first_not_of(kSpace);
    return begin == std::string::npos ? std::string() : text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
  });
}

bool InCharacters(const Call& call) { return call.attributes().Text("unit", "BYTE") == "UTF8_CHAR"; }

Outputs Length(const Call& call) {
  RETURN_IF_ERROR(CheckTexts(call));
  const bool in_characters = InCharacters(call);
  return UnaryOf<std::string, int32_t>(call, [&](const std::string& text) {
    const auto begins = [](char c) { return !ContinuesCharacter(c); };
    return static_cast<int32_t>(in_characters ? std::count_if(text.begin(), text.end(), begins)
                                              : static_cast<std::ptrdiff_t>(text.size()));
  });
}

// Moves forward by `count` characters from the index `at`, but not beyond the end of the text. Returns the new index.
// Sets `count` to the number of characters that were missing.
size_t Forward(const std::string& text, size_t at, int64_t* count) {
  for (; *count > 0 && at < text.size(); --*count) {
    do ++at;
    while (at < text.size() && ContinuesCharacter(text[at]));
  }
  return at;
}

size_t Back(const std::string& text, size_t at, int64_t* count) {
  for (; *count > 0 && at > 0; --*count) {
    do --at;
    while (at > 0 && ContinuesCharacter(text[at]));
  }
  return at;
}

// A part of a text. It begins at `pos`, counted from the end if negative, and has at most `len` bytes or characters; a
// negative `len` is no limit.
struct Part {
  int64_t pos = 0;
  int64_t len = 0;
};

std::optional<std::string> BytesOf(const std::string& text, Part part) {
  const auto size = static_cast<int64_t>(text.size());
  const int64_t begin = part.pos < 0 ? size + std::max(part.pos, -size - 1) : part.pos;
  if (begin < 0 || begin > size) return std::nullopt;
  return text.substr(static_cast<size_t>(begin), static_cast<size_t>(part.len));
}

std::optional<std::string> CharactersOf(const std::string& text, Part part) {
  int64_t left = part.pos < 0 ? -std::max(part.pos, -INT64_MAX) : part.pos;
  const size_t begin = part.pos < 0 ? Back(text, text.size(), &left) : Forward(text, 0, &left);
  if (left > 0) return std::nullopt;
  return text.substr(begin, Forward(text, begin, &part.len) - begin);
}

Outputs Substr(const Call& call) {
  RETURN_IF_ERROR(CheckText(call, 0));
  const Tensor& in = call.in(0);
  const Tensor& pos = call.in(1);
  if (pos.shape() != call.in(2).shape() || pos.type() != call.in(2).type())
    return InvalidArgument("pos and len must have the same type and shape, not {}{} and {}{}", DTypeName(pos.type()),
                           ToString(pos.shape()), DTypeName(call.in(2).type()), ToString(call.in(2).shape()));
  ASSIGN_OR_RETURN(const auto begins, AllIntsOf(pos, "pos"));
  ASSIGN_OR_RETURN(const auto lengths, AllIntsOf(call.in(2), "len"));
  ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(in.shape(), pos.shape()));
  RETURN_IF_ERROR(call.HasRoomFor(DType::kString, shape));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kString, shape));
  if (in.elements() < out.elements()) RETURN_IF_ERROR(HasRoomForText(call, out.elements(), LongestOf(in)));
  const std::array strides = {BroadcastStrides(in.shape(), shape), BroadcastStrides(pos.shape(), shape)};
  const bool in_characters = InCharacters(call);
  Status status;
  ForEachRow(shape, strides, [&](int64_t to, const std::array<int64_t, 2>& from, int64_t count) {
    const int64_t step = shape.empty() ? 0 : strides[0].back(), part_step = shape.empty() ? 0 : strides[1].back();
    for (int64_t i = 0; i < count && status; ++i) {
      const auto& text = Raw<std::string>(in)[from[0] + i * step];
      const auto at = static_cast<size_t>(from[1] + i * part_step);
      const Part part{begins[at], lengths[at]};
      auto found = in_characters ? CharactersOf(text, part) : BytesOf(text, part);
      if (found)
        Raw<std::string>(out)[to + i] = std::move(*found);
      else
        status = InvalidArgument("pos {} out of range for string at index {}", part.pos, to + i);
    }
  });
  RETURN_IF_ERROR(status);
  return One(out);
}

constexpr Kernel kKernels[] = {
    {.op = "StringLength", .compute = Length, .inputs_min = 1},
    {.op = "StringLower", .compute = ChangeCase<Lower>, .inputs_min = 1},
    {.op = "StringStrip", .compute = Strip, .inputs_min = 1},
    {.op = "StringUpper", .compute = ChangeCase<Upper>, .inputs_min = 1},
    {.op = "Substr", .compute = Substr, .inputs_min = 3},
};

}  // namespace

std::span<const Kernel> StringKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::text
