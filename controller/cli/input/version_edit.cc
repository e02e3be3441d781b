#include "controller/cli/input/version_edit.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <vector>

#include "controller/api/document.h"
#include "controller/api/format.h"
#include "controller/api/parse.h"

namespace longshore::cli::input {
namespace {

using Lines = std::vector<std::string>;

Lines LinesOf(const std::string& text) {
  Lines lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1);
    lines.push_back(text.substr(begin, end - begin + 1));  // With its newline.
    begin = end + 1;
  }
  return lines;
}

std::string Joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

std::optional<int> LineOf(const api::YamlDocument& document, const std::string& path) {
  const auto found = document.origin.lines.find(path);
  if (found == document.origin.lines.end()) return std::nullopt;
  return found->second;
}

// Replaces the number after `version:` in the line. Returns false unless the line has exactly one.
bool ReplaceNumber(std::string& line, int64_t version) {
  static const std::regex kVersion("([\"']?\\bversion[\"']?\\s*:\\s*)([0-9]+)");
  const std::string code = line.substr(0, line.find('#'));
  if (std::distance(std::sregex_iterator(code.begin(), code.end(), kVersion), std::sregex_iterator()) != 1)
    return false;
  std::smatch match;
  std::regex_search(code, match, kVersion);
  line.replace(static_cast<size_t>(match.position(2)), static_cast<size_t>(match.length(2)), std::to_string(version));
  return true;
}

// Replaces `versionPolicy: Latest` in the line by the version. Returns false unless the line has exactly one.
bool ReplacePolicy(std::string& line, int64_t version) {
  static const std::regex kPolicy("([\"']?)\\bversionPolicy([\"']?\\s*:\\s*)[\"']?Latest\\b[\"']?");
  const std::string code = line.substr(0, line.find('#'));
  if (std::distance(std::sregex_iterator(code.begin(), code.end(), kPolicy), std::sregex_iterator()) != 1) return false;
  std::smatch match;
  std::regex_search(code, match, kPolicy);
  line.replace(static_cast<size_t>(match.position(0)), static_cast<size_t>(match.length(0)),
               fmt::format("{}version{}{}", match.str(1), match.str(2), version));
  return true;
}

// Adds a line with the version after the line of `spec:`, with the indentation of the next line. Returns false if the
// fields of the spec do not follow line by line.
bool AddVersion(Lines& lines, size_t spec_line, int64_t version) {
  static const std::regex kSpec(R"(\s*spec\s*:\s*(#.*)?\n)");
  if (spec_line + 1 >= lines.size() || !std::regex_match(lines[spec_line], kSpec)) return false;
  const size_t indent = lines[spec_line + 1].find_first_not_of(' ');
  if (indent == std::string::npos || indent == 0 || lines[spec_line + 1][indent] == '#') return false;
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(spec_line) + 1,
               std::string(indent, ' ') + "version: " + std::to_string(version) + "\n");
  return true;
}

// Whether both texts define the same objects except for the version of the model, which is `version` in the second.
bool DiffersOnlyInVersion(const std::vector<api::ParsedObject>& before, const std::vector<api::ParsedObject>& after,
                          const api::Key& model, int64_t version) {
  return std::ranges::equal(before, after, [&](const api::ParsedObject& one, const api::ParsedObject& other) {
    if (api::KeyOf(one) != api::KeyOf(other) || one.metadata.labels != other.metadata.labels ||
        one.metadata.annotations != other.metadata.annotations)
      return false;
    Json wanted = api::SpecToJson(one);
    if (api::KeyOf(one) == model) {
      api::ModelSpec spec = std::get<api::ModelSpec>(one.spec);
      spec.version = version;
      wanted = api::ToJson(spec);
    }
    return wanted == api::SpecToJson(other);
  });
}

}  // namespace

Result<std::string> WithVersion(const std::string& file, const std::string& text, const api::Key& model,
                                int64_t version, const std::string& namespace_) {
  ASSIGN_OR_RETURN(const auto before, api::ParseManifests(file, text, api::Home::kHost, namespace_));
  ASSIGN_OR_RETURN(const auto documents, api::LoadYaml(file, text, api::kManifestDocumentsMax));
  const auto at = std::ranges::find(before, model, api::KeyOf);
  if (at == before.end()) return NotFound("{} does not define {}", file, api::ToString(model));
  const api::YamlDocument& document = documents[static_cast<size_t>(at - before.begin())];
  Lines lines = LinesOf(text);
  const std::optional<int> version_line = LineOf(document, "spec.version");
  const std::optional<int> policy_line = LineOf(document, "spec.versionPolicy");
  const int line = version_line  ? *version_line
                   : policy_line ? *policy_line
                                 : LineOf(document, "spec").value_or(at->line);
  const auto index = static_cast<size_t>(line) - 1;
  const bool is_edited = version_line  ? ReplaceNumber(lines.at(index), version)
                         : policy_line ? ReplacePolicy(lines.at(index), version)
                                       : AddVersion(lines, index, version);
  if (is_edited) {
    const std::string edited = Joined(lines);
    const auto after = api::ParseManifests(file, edited, api::Home::kHost, namespace_);
    if (after && DiffersOnlyInVersion(before, *after, model, version)) return edited;
  }
  return FailedPrecondition("{}:{}: the layout of this file does not allow an automatic change; set spec.version to {}",
                            file, line, version);
}

}  // namespace longshore::cli::input
