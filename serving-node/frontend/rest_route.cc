#include "serving-node/frontend/rest_route.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "common/base/lower_case.h"

namespace longshore::frontend {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Removes the prefix from the text, ignoring case. Returns false if the text does not begin with the prefix.
bool Consume(std::string_view prefix, std::string_view* text) {
  if (text->size() < prefix.size()) return false;
  const bool same = std::equal(prefix.begin(), prefix.end(), text->begin(),
                               [](char a, char b) { return LowerCase(a) == LowerCase(b); });
  if (same) text->remove_prefix(prefix.size());
  return same;
}

// Removes and returns the text before the next '/' or ':'.
std::string_view ConsumeSegment(std::string_view* text) {
  const std::string_view segment = text->substr(0, text->find_first_of("/:"));
  text->remove_prefix(segment.size());
  return segment;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

// Removes "/versions/V" or "/labels/L" if the text begins with one of them. Returns false if it is malformed.
Result<bool> ConsumeVersion(std::string_view* text, tensorflow::serving::ModelSpec* spec) {
  if (Consume("/versions/", text)) {
    const std::string_view digits = ConsumeSegment(text);
    if (!IsNumber(digits)) return false;
    int64_t version = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), version);
    if (read.ec != std::errc{}) return InvalidArgument("Failed to convert version: {} to numeric.", digits);
    spec->mutable_version()->set_value(version);
  } else if (Consume("/labels/", text)) {
    const std::string_view label = ConsumeSegment(text);
    if (label.empty()) return false;
    spec->set_version_label(PercentDecoded(label));
  }
  return true;
}

std::optional<RestRoute::Kind> KindOf(std::string_view method, std::string_view rest) {
  using Kind = RestRoute::Kind;
  const auto is = [rest](std::string_view text) {
    std::string_view left = rest;
    return Consume(text, &left) && left.empty();
  };
  if (method == "GET") {
    if (rest.empty()) return Kind::kStatus;
    if (is("/metadata")) return Kind::kMetadata;
  } else if (method == "POST") {
    if (is(":predict")) return Kind::kPredict;
    if (is(":classify")) return Kind::kClassify;
    if (is(":regress")) return Kind::kRegress;
  }
  return std::nullopt;
}

}  // namespace

std::string PercentDecoded(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0;
    if (!escape) {
      plain.push_back(text[i]);
      continue;
    }
    plain.push_back(static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2])));
    i += 2;
  }
  return plain;
}

bool IsApi(std::string_view target) { return Consume("/v1", &target) && (target.empty() || target.front() == '/'); }

Result<RestRoute> ParseRoute(std::string_view method, std::string_view target) {
  const auto malformed = [&] { return InvalidArgument("Malformed request: {} {}", method, target); };
  RestRoute route;
  std::string_view rest = target;
  if (!Consume("/v1/models", &rest)) return malformed();
  if (rest.empty() && method == "GET") return InvalidArgument("Missing model name in request.");
  if (!Consume("/", &rest)) return malformed();
  const std::string_view name = ConsumeSegment(&rest);
  if (name.empty()) return malformed();
  route.spec.set_name(PercentDecoded(name));
  ASSIGN_OR_RETURN(const bool well_formed, ConsumeVersion(&rest, &route.spec));
  const auto kind = KindOf(method, rest);
  if (!well_formed || !kind) return malformed();
  route.kind = *kind;
  return route;
}

}  // namespace longshore::frontend
