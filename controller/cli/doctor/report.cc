#include "controller/cli/doctor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "controller/cli/text/color.h"

namespace longshore::cli::doctor {
namespace {

constexpr std::array kVerdicts = {Verdict::kOk, Verdict::kWarning, Verdict::kFailure, Verdict::kNotKnown};

struct Look {
  std::string_view mark;
  std::string_view ascii;
  std::string_view color;
  std::string_view json;
  const char* name;
};

const Look& LookOf(Verdict verdict) {
  static constexpr std::array<Look, 4> kLooks = {{{"✓", "ok  ", text::kGreen, "ok", "ok"},
                                                  {"!", "warn", text::kYellow, "warning", "warning"},
                                                  {"✗", "FAIL", text::kRed, "failure", "failure"},
                                                  {"?", "?   ", text::kCyan, "notKnown", "not known"}}};
  return kLooks.at(static_cast<size_t>(verdict));
}

std::string Painted(std::string_view text, std::string_view color, const Style& style) {
  return style.colors ? text::Painted(text, color) : std::string(text);
}

std::string LineOf(const Finding& finding, const Style& style) {
  const Look& look = LookOf(finding.verdict);
  const std::string_view mark = style.unicode ? look.mark : look.ascii;
  std::string line = fmt::format("  {} {}: {}\n", Painted(mark, look.color, style), finding.name, finding.cause);
  const std::string indent(style.unicode ? 4 : 7, ' ');
  if (!finding.cure.empty()) line += fmt::format("{}{} {}\n", indent, style.unicode ? "→" : "->", finding.cure);
  return line;
}

std::ptrdiff_t CountOf(const Findings& findings, Verdict verdict) {
  return std::ranges::count(findings, verdict, &Finding::verdict);
}

std::string Summary(const Findings& findings) {
  const auto counted = [&](Verdict verdict) {
    const auto count = CountOf(findings, verdict);
    return fmt::format("{} {}{}", count, VerdictName(verdict), count == 1 ? "" : "s");
  };
  return fmt::format("{} ok, {}, {}, {} not known\n", CountOf(findings, Verdict::kOk), counted(Verdict::kWarning),
                     counted(Verdict::kFailure), CountOf(findings, Verdict::kNotKnown));
}

}  // namespace

const char* VerdictName(Verdict verdict) { return LookOf(verdict).name; }

std::string Sentence(std::string text) {
  constexpr std::string_view kEnds = ".?!";
  if (!text.empty() && kEnds.find(text.back()) == std::string_view::npos) text += '.';
  return text;
}

void Append(Findings& all, Findings more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::string Text(const Findings& findings, const Style& style) {
  std::vector<std::string> groups;  // In the order of their first findings.
  for (const Finding& finding : findings) {
    if (std::ranges::find(groups, finding.group) == groups.end()) groups.push_back(finding.group);
  }
  std::string text;
  for (const std::string& group : groups) {
    text += Painted(group, text::kBold, style) + "\n";
    for (const Finding& finding : findings) {
      if (finding.group == group) text += LineOf(finding, style);
    }
    text += "\n";
  }
  return text + Summary(findings);
}

Json ToJson(const Findings& findings) {
  Json summary = Json::object();
  for (const Verdict verdict : kVerdicts) summary[std::string(LookOf(verdict).json)] = CountOf(findings, verdict);
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"group", finding.group},
                    {"name", finding.name},
                    {"verdict", LookOf(finding.verdict).json},
                    {"cause", finding.cause},
                    {"cure", finding.cure}});
  }
  return {{"summary", summary}, {"findings", list}};
}

bool HasFailed(const Findings& findings) { return CountOf(findings, Verdict::kFailure) > 0; }

}  // namespace longshore::cli::doctor
