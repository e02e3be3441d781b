// URL-safe Base64: "-" and "_" instead of "+" and "/".
#include <array>
#include <optional>

#include "serving-node/engine/kernels/base/texts.h"
#include "serving-node/engine/kernels/text/families.h"

namespace longshore::engine::kernels::text {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string Encoded(const std::string& bytes, bool pad) {
  std::string text;
  uint32_t bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (count += 8; count >= 6; count -= 6) text += kDigits[bits >> (count - 6) & 63];
  }
  if (count > 0) text += kDigits[bits << (6 - count) & 63];
  while (pad && text.size() % 4 != 0) text += '=';
  return text;
}

// Decodes text with or without the one or two "=" that pad the last group. Ignores surplus bits at the end. Returns
// nullopt if the text is not valid.
std::optional<std::string> Decoded(std::string_view text) {
  if (text.size() % 4 == 0 && text.ends_with("=")) text.remove_suffix(text.ends_with("==") ? 2 : 1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char digit : text) {
    const size_t value = kDigits.find(digit);
    if (value == kDigits.npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 255);
  }
  return bytes;
}

Outputs EncodeBase64(const Call& call) {
  RETURN_IF_ERROR(CheckTexts(call));
  const bool pad = call.attributes().Bool("pad", false);
  return UnaryOf<std::string>(call, [&](const std::string& bytes) { return Encoded(bytes, pad); });
}

Outputs DecodeBase64(const Call& call) {
  RETURN_IF_ERROR(CheckTexts(call));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(call.in(0), call.in(0).shape()));
  for (int64_t i = 0; i < out.elements(); ++i) {
    auto bytes = Decoded(Raw<std::string>(call.in(0))[i]);
    if (!bytes) return InvalidArgument("the string at index {} is not valid URL-safe base64", i);
    Raw<std::string>(out)[i] = std::move(*bytes);
  }
  return One(out);
}

constexpr Kernel kKernels[] = {
    {.op = "DecodeBase64", .compute = DecodeBase64, .inputs_min = 1},
    {.op = "EncodeBase64", .compute = EncodeBase64, .inputs_min = 1},
};

}  // namespace

std::span<const Kernel> Base64Kernels() { return kKernels; }

}  // namespace longshore::engine::kernels::text
