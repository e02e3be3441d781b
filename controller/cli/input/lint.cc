#include "controller/cli/input/lint.h"

#include <algorithm>
#include <map>

#include "common/base/path.h"
#include "controller/api/parse.h"
#include "controller/cli/input/source_folder.h"

namespace longshore::cli::input {
namespace {

constexpr const char* kModelFile = "saved_model.pb";

bool IsVersion(const Path& folder) {
  std::error_code error;
  return std::filesystem::exists(folder / kModelFile, error);
}

bool IsNumber(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

// Returns the versions that the folder has, smallest first.
std::vector<int64_t> VersionsIn(const Path& folder) {
  constexpr size_t kDigitsMax = 18;  // More do not fit into int64_t.
  std::vector<int64_t> versions;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (IsNumber(name) && name.size() <= kDigitsMax && IsVersion(at->path())) versions.push_back(std::stoll(name));
  }
  std::ranges::sort(versions);
  return versions;
}

// Whether the source is a folder of another host, for example of a node of a cluster: not even its parent is here.
bool IsElsewhere(const api::ModelSpec& spec) {
  const std::optional<Path> folder = SourceFolder(spec.source_uri);
  std::error_code error;
  return folder && !std::filesystem::exists(*folder, error) &&
         !std::filesystem::exists(folder->lexically_normal().parent_path(), error);
}

// Returns what is wrong with the source of the model; "": nothing.
std::string SourceProblem(const api::ModelSpec& spec) {
  const std::optional<Path> source = SourceFolder(spec.source_uri);
  if (!source) return "";
  const Path& folder = *source;
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    return fmt::format("spec.source.uri: folder {} does not exist on this host", folder.string());
  if (IsVersion(folder))
    return fmt::format("spec.source.uri: {} is one version of a model; name its parent folder {}", folder.string(),
                       folder.parent_path().string());
  const std::vector<int64_t> versions = VersionsIn(folder);
  if (versions.empty())
    return fmt::format("spec.source.uri: {} has no version: no file {}/VERSION/{}", folder.string(), folder.string(),
                       kModelFile);
  if (!spec.version || std::ranges::find(versions, *spec.version) != versions.end()) return "";
  return fmt::format("spec.version: {} has no version {}; the newest is {}", folder.string(), *spec.version,
                     versions.back());
}

void LintFile(const File& file, const std::string& namespace_, Sources sources, std::map<api::Key, std::string>& places,
              Checked& checked) {
  const auto parsed = api::ParseManifests(file.name, file.text, api::Home::kAny, namespace_);
  if (!parsed) {
    checked.problems.push_back(parsed.error().message);
    return;
  }
  if (parsed->empty()) checked.problems.push_back(file.name + ": defines no object");
  for (const api::ParsedObject& object : *parsed) {
    const std::string place = fmt::format("{}:{}", file.name, object.line);
    const auto [first, is_new] = places.emplace(api::KeyOf(object), place);
    checked.objects.push_back(api::ToString(first->first));
    if (!is_new)
      checked.problems.push_back(fmt::format("{}: {} is at {} too", place, api::ToString(first->first), first->second));
    const auto* spec = std::get_if<api::ModelSpec>(&object.spec);
    if (spec == nullptr || sources == Sources::kSkip) continue;
    if (IsElsewhere(*spec)) {
      checked.notes.push_back(
          fmt::format("{}: spec.source.uri: not checked: {} is not on this host, and neither is its "
                      "parent folder",
                      place, spec->source_uri));
    } else if (const std::string problem = SourceProblem(*spec); !problem.empty()) {
      checked.problems.push_back(place + ": " + problem);
    }
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
