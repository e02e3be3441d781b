// What ops on strings share.
#pragma once

#include <algorithm>

#include "serving-node/engine/reference/kernels/elementwise.h"

namespace longshore::engine::reference::kernels {

// InvalidArgument unless input `index` holds strings.
inline Status CheckText(const Call& call, size_t index) {
  if (call.in(index).type() == DType::kString) return {};
  return InvalidArgument("input {} is of {} instead of DT_STRING", index, DTypeName(call.in(index).type()));
}

inline Status CheckTexts(const Call& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) RETURN_IF_ERROR(CheckText(call, i));
  return {};
}

// The string that input `index` is, a scalar.
inline Result<std::string> TextOf(const Call& call, size_t index, std::string_view what) {
  RETURN_IF_ERROR(CheckText(call, index));
  if (call.in(index).rank() != 0)
    return InvalidArgument("{} must be a scalar, not of shape {}", what, ToString(call.in(index).shape()));
  return call.in(index).values<std::string>()[0];
}

// A byte that continues a UTF-8 character.
inline bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// ResourceExhausted when the run has no memory for so many texts of so many bytes each.
inline Status HasRoomForText(const Call& call, int64_t count, size_t bytes) {
  return call.HasRoomFor(DType::kUint8, {count, static_cast<int64_t>(bytes)});
}

// The bytes of the longest string. Requires: the tensor holds strings.
inline size_t LongestOf(const Tensor& texts) {
  size_t longest = 0;
  for (const auto& text : texts.values<std::string>()) longest = std::max(longest, text.size());
  return longest;
}

}  // namespace longshore::engine::reference::kernels
