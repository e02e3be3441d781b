// Functions that the ops on strings share.
#pragma once

#include <algorithm>

#include "serving-node/engine/kernels/base/elementwise.h"

namespace longshore::engine::kernels {

// Returns InvalidArgument unless input `index` holds strings.
inline Status CheckText(const Call& call, size_t index) {
  if (call.in(index).type() == DType::kString) return {};
  return InvalidArgument("input {} must be of DT_STRING, not {}", index, DTypeName(call.in(index).type()));
}

inline Status CheckTexts(const Call& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) RETURN_IF_ERROR(CheckText(call, i));
  return {};
}

// Returns the string in input `index`, which must be a scalar. `what` names the input in errors.
inline Result<std::string> TextOf(const Call& call, size_t index, std::string_view what) {
  RETURN_IF_ERROR(CheckText(call, index));
  if (call.in(index).rank() != 0)
    return InvalidArgument("{} must be a scalar, not of shape {}", what, ToString(call.in(index).shape()));
  return call.in(index).values<std::string>()[0];
}

// True if the byte is a continuation byte of a UTF-8 character.
inline bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Returns ResourceExhausted if `count` strings of `bytes` bytes each do not fit into the memory of the run.
inline Status HasRoomForText(const Call& call, int64_t count, size_t bytes) {
  return call.HasRoomFor(DType::kUint8, {count, static_cast<int64_t>(bytes)});
}

// Returns the length of the longest string in bytes. Requires: the tensor holds strings.
inline size_t LongestOf(const Tensor& texts) {
  size_t longest = 0;
  for (const auto& text : texts.values<std::string>()) longest = std::max(longest, text.size());
  return longest;
}

}  // namespace longshore::engine::kernels
