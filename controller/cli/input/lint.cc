#include "controller/cli/input/lint.h"

#include <map>

#include "controller/api/document.h"
#include "controller/api/parse.h"
#include "controller/cli/input/source_check.h"

namespace longshore::cli::input {
namespace {

void LintFile(const File& file, const std::string& namespace_, Sources sources, std::map<api::Key, std::string>& places,
              Checked& checked) {
  const auto parsed = api::ParseManifests(file.name, file.text, api::Home::kAny, namespace_);
  if (!parsed) {
    checked.problems.push_back(parsed.error().message);
    return;
  }
  if (parsed->empty()) checked.problems.push_back(file.name + ": defines no object");
  const auto documents = api::LoadYaml(file.name, file.text, api::kManifestDocumentsMax).value();  // It was parsed.
  for (size_t i = 0; i < parsed->size(); ++i) {
    const api::ParsedObject& object = parsed->at(i);
    const std::string place = fmt::format("{}:{}", file.name, object.line);
    const auto [first, is_new] = places.emplace(api::KeyOf(object), place);
    checked.objects.push_back(api::ToString(first->first));
    if (!is_new)
      checked.problems.push_back(fmt::format("{}: {} is at {} too", place, api::ToString(first->first), first->second));
    const auto* spec = std::get_if<api::ModelSpec>(&object.spec);
    if (spec == nullptr || sources == Sources::kSkip) continue;
    if (IsElsewhere(*spec)) {
      checked.notes.push_back(documents.at(i).origin.At("spec.source.uri") + "not checked: " + spec->source_uri +
                              " is not on this host, and neither is its parent folder");
      continue;
    }
    for (const FieldProblem& problem : SourceProblems(*spec))
      checked.problems.push_back(documents.at(i).origin.At(problem.path) + problem.why);
  }
}

}  // namespace

Checked Lint(const std::vector<File>& files, const std::string& namespace_, Sources sources) {
  Checked checked;
  std::map<api::Key, std::string> places;
  for (const File& file : files) LintFile(file, namespace_, sources, places, checked);
  return checked;
}

}  // namespace longshore::cli::input
