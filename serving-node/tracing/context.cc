#include "serving-node/tracing/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "common/base/trimmed.h"

namespace longshore::tracing {
namespace {

constexpr size_t kTraceparentBytes = 55;
constexpr size_t kMembersMax = 32;

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

// The grammar of level 2, which accepts every key of level 1.
bool IsKey(std::string_view key) {
  constexpr size_t kBytesMax = 256;
  constexpr std::string_view kOthers = "_-*/@";
  const auto is_first = [](char c) { return (c >= 'a' && c <= 'z') || IsDigit(c); };
  const auto is_allowed = [&](char c) { return is_first(c) || kOthers.find(c) != kOthers.npos; };
  return !key.empty() && key.size() <= kBytesMax && is_first(key[0]) && std::ranges::all_of(key, is_allowed);
}

bool IsValue(std::string_view value) {
  constexpr size_t kBytesMax = 256;
  const auto is_allowed = [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; };
  return !value.empty() && value.size() <= kBytesMax && std::ranges::all_of(value, is_allowed);
}

bool IsMember(std::string_view member) {
  const size_t equals = member.find('=');
  return equals != member.npos && IsKey(member.substr(0, equals)) && IsValue(member.substr(equals + 1));
}

// Returns the members of all headers; "" if one is not valid, or if there are too many. Blanks around members and empty
// members are left out: metadata of gRPC must not contain a tab.
std::string JoinState(std::span<const std::string_view> states) {
  std::string joined;
  size_t members = 0;
  for (std::string_view state : states) {
    while (!state.empty()) {
      const size_t comma = state.find(',');
      const std::string_view member = Trimmed(state.substr(0, comma));
      state = comma == state.npos ? std::string_view() : state.substr(comma + 1);
      if (member.empty()) continue;
      if (!IsMember(member) || ++members > kMembersMax) return "";
      if (joined.size() + member.size() + 1 > kStateBytesMax) return "";
      if (!joined.empty()) joined += ',';
      joined += member;
    }
  }
  return joined;
}

}  // namespace

std::string ToString(const TraceId& id) { return fmt::format("{:016x}{:016x}", id.high, id.low); }

std::optional<Context> ParseContext(const Headers& headers) {
  if (headers.traceparents.size() != 1) return std::nullopt;
  auto context = ParseTraceparent(Trimmed(headers.traceparents[0]));
  if (context) context->state = JoinState(headers.tracestates);
  return context;
}

std::string FormatTraceparent(const Context& context) {
  return fmt::format("00-{}-{:016x}-{:02x}", ToString(context.trace_id), context.span_id, context.sampled ? 1 : 0);
}

}  // namespace longshore::tracing
