#include "serving-node/tracing/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace longshore::tracing {
namespace {

constexpr size_t kTraceparentBytes = 55;
constexpr size_t kMembersMax = 32;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads a number of lower-case hexadecimal digits, at most 16.
std::optional<uint64_t> ParseHex(std::string_view text) {
  if (!std::ranges::all_of(text, [](char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); })) return std::nullopt;
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return number;
}

// A later version may append "-" and further fields, which are ignored.
bool HasValidLength(std::string_view text, uint64_t version) {
  if (version == 0) return text.size() == kTraceparentBytes;
  return text.size() == kTraceparentBytes || text[kTraceparentBytes] == '-';
}

std::optional<Context> ParseTraceparent(std::string_view text) {
  constexpr uint64_t kInvalidVersion = 0xff;
  if (text.size() < kTraceparentBytes || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  const auto version = ParseHex(text.substr(0, 2));
  const auto high = ParseHex(text.substr(3, 16));
  const auto low = ParseHex(text.substr(19, 16));
  const auto span_id = ParseHex(text.substr(36, 16));
  const auto flags = ParseHex(text.substr(53, 2));
  if (!version || !high || !low || !span_id || !flags) return std::nullopt;
  if (*version == kInvalidVersion || !HasValidLength(text, *version)) return std::nullopt;
  if ((*high | *low) == 0 || *span_id == 0) return std::nullopt;
  return Context{.trace_id = {*high, *low}, .span_id = *span_id, .sampled = (*flags & 1) != 0};
}

bool IsKeyCharacter(char c) { return IsLower(c) || IsDigit(c) || c == '_' || c == '-' || c == '*' || c == '/'; }

// A part of a key: a letter (or a digit, in front of "@"), and at most bytes_max - 1 more characters.
bool IsKeyPart(std::string_view part, size_t bytes_max, bool digit_first) {
  if (part.empty() || part.size() > bytes_max) return false;
  if (!IsLower(part[0]) && !(digit_first && IsDigit(part[0]))) return false;
  return std::ranges::all_of(part, IsKeyCharacter);
}

bool IsKey(std::string_view key) {
  constexpr size_t kBytesMax = 256, kTenantBytesMax = 241, kSystemBytesMax = 14;
  const size_t at = key.find('@');
  if (at == key.npos) return IsKeyPart(key, kBytesMax, false);
  return IsKeyPart(key.substr(0, at), kTenantBytesMax, true) && IsKeyPart(key.substr(at + 1), kSystemBytesMax, false);
}

bool IsValue(std::string_view value) {
  constexpr size_t kBytesMax = 256;
  const auto is_allowed = [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; };
  return !value.empty() && value.size() <= kBytesMax && std::ranges::all_of(value, is_allowed);
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool IsState(std::string_view state) {
  size_t members = 0;
  while (!state.empty()) {
    const size_t comma = state.find(',');
    const std::string_view member = Trimmed(state.substr(0, comma));
    state = comma == state.npos ? std::string_view() : state.substr(comma + 1);
    if (member.empty()) continue;
    const size_t equals = member.find('=');
    if (equals == member.npos || ++members > kMembersMax) return false;
    if (!IsKey(member.substr(0, equals)) || !IsValue(member.substr(equals + 1))) return false;
  }
  return members > 0;
}

// Returns the list of all headers; "" if it is not valid or too long.
std::string JoinState(std::span<const std::string_view> states) {
  std::string joined;
  for (const std::string_view state : states) {
    if (joined.size() + state.size() + 1 > kStateBytesMax) return "";
    if (!joined.empty()) joined += ',';
    joined += state;
  }
  return IsState(joined) ? joined : "";
}

}  // namespace

std::optional<Context> ParseContext(const Headers& headers) {
  if (headers.traceparents.size() != 1) return std::nullopt;
  auto context = ParseTraceparent(Trimmed(headers.traceparents[0]));
  if (context) context->state = JoinState(headers.tracestates);
  return context;
}

std::string FormatTraceparent(const Context& context) {
  return fmt::format("00-{:016x}{:016x}-{:016x}-{:02x}", context.trace_id.high, context.trace_id.low, context.span_id,
                     context.sampled ? 1 : 0);
}

}  // namespace longshore::tracing
