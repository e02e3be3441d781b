#include "common/metrics/page.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "common/base/error.h"

namespace longshore::metrics {
namespace {

constexpr size_t kPieceBytes = 64 << 10;

// Appends the text, escaped for the exposition format: as a label value if `quoted` is true, otherwise as a help text.
void Escape(std::string_view text, bool quoted, std::string* out) {
  for (const char c : text) {
    if (c == '\\')
      *out += "\\\\";
    else if (c == '\n')
      *out += "\\n";
    else if (c == '"' && quoted)
      *out += "\\\"";
    else
      *out += c;
  }
}

void AppendValue(double value, std::string* out) {
  if (std::isnan(value))
    *out += "NaN";
  else if (std::isinf(value))
    *out += value > 0 ? "+Inf" : "-Inf";
  else
    fmt::format_to(std::back_inserter(*out), "{}", value);
}

void AppendSeries(const std::string& name, const Labels& labels, double value, std::string* out) {
  *out += name;
  char before = '{';
  for (const auto& [label, text] : labels) {
    *out += std::exchange(before, ',');
    *out += label;
    *out += "=\"";
    Escape(text, true, out);
    *out += '"';
  }
  *out += labels.empty() ? " " : "} ";
  AppendValue(value, out);
  *out += '\n';
}

}  // namespace

void Page::Append(const Exposition& exposition) {
  for (const auto& [name, family] : exposition.families()) {
    CHECK(family.kind != Exposition::Kind::kHistogram);
    std::vector<std::string>& pieces = families_[name];
    if (pieces.empty()) {
      std::string& head = pieces.emplace_back(fmt::format("# HELP {} ", name));
      Escape(family.help, false, &head);
      head += fmt::format("\n# TYPE {} {}\n", name, family.kind == Exposition::Kind::kCounter ? "counter" : "gauge");
    }
    for (const auto& [labels, metric] : family.metrics) {
      if (pieces.back().size() >= kPieceBytes) pieces.emplace_back();
      AppendSeries(name, labels, metric.value, &pieces.back());
    }
  }
}

void Page::MoveTo(std::string* text) {
  size_t bytes = text->size();
  for (const auto& [_, pieces] : families_) {
    for (const std::string& piece : pieces) bytes += piece.size();
  }
  text->reserve(bytes);
  for (auto& [_, pieces] : families_) {
    for (std::string& piece : pieces) *text += std::exchange(piece, {});
  }
  families_.clear();
}

}  // namespace longshore::metrics
