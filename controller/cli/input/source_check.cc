#include "controller/cli/input/source_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "common/base/path.h"
#include "common/version_files/folder.h"
#include "controller/cli/input/golden_check.h"
#include "controller/cli/input/source_folder.h"

namespace longshore::cli::input {
namespace {

constexpr const char* kModelFile = "saved_model.pb";

bool IsVersion(const Path& folder) {
  std::error_code error;
  return std::filesystem::exists(folder / kModelFile, error);
}

// Returns the versions that the folder has, smallest first.
std::vector<int64_t> VersionsIn(const Path& folder) {
  std::vector<int64_t> versions = version_files::ListVersions(folder).value_or(std::vector<int64_t>{});
  std::erase_if(versions, [&](int64_t version) {
    const auto dir = version_files::FindVersionDir(folder, version);
    return !dir || !IsVersion(*dir);
  });
  return versions;
}

std::string NoVersion(const Path& folder, int64_t version, int64_t newest) {
  return fmt::format("{} has no version {}; the newest is {}", folder.string(), version, newest);
}

// Returns the problem of the folder or of the version in it.
std::vector<FieldProblem> FolderProblem(const Path& folder, const std::optional<int64_t>& version) {
  const std::string uri = "spec.source.uri";
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    return {{uri, fmt::format("folder {} does not exist on this host", folder.string())}};
  if (IsVersion(folder))
    return {{uri, fmt::format("{} is one version of a model; name its parent folder {}", folder.string(),
                              folder.parent_path().string())}};
  const std::vector<int64_t> versions = VersionsIn(folder);
  if (versions.empty())
    return {
        {uri, fmt::format("{} has no version: no file {}/VERSION/{}", folder.string(), folder.string(), kModelFile)}};
  if (!version || std::ranges::find(versions, *version) != versions.end()) return {};
  return {{"spec.version", NoVersion(folder, *version, versions.back())}};
}

}  // namespace

std::string ToString(const FieldProblem& problem) { return problem.path + ": " + problem.why; }

bool IsElsewhere(const api::ModelSpec& spec) {
  const std::optional<Path> folder = SourceFolder(spec.source_uri);
  std::error_code error;
  return folder && !std::filesystem::exists(*folder, error) &&
         !std::filesystem::exists(folder->lexically_normal().parent_path(), error);
}

std::vector<FieldProblem> SourceProblems(const api::ModelSpec& spec) {
  const std::optional<Path> source = SourceFolder(spec.source_uri);
  if (!source) return {};
  const Path& folder = *source;
  std::vector<FieldProblem> problems = FolderProblem(folder, spec.version);
  std::error_code error;
  if (spec.validation.golden_set.empty() || !std::filesystem::is_directory(folder, error)) return problems;
  const Path golden = folder / spec.validation.golden_set;
  if (!std::filesystem::exists(golden, error))
    problems.push_back({"spec.validation.goldenSet.path", golden.string() + " does not exist on this host"});
  return problems;
}

std::vector<FieldProblem> MetricProblems(const api::ModelSpec& spec) {
  const std::optional<Path> folder = SourceFolder(spec.source_uri);
  if (!folder || spec.validation.golden_set.empty() || spec.validation.metric != "top1") return {};
  const std::string why = WhyTop1ScoresZero(*folder / spec.validation.golden_set);
  if (why.empty()) return {};
  return {{"spec.validation.goldenSet.metric", why}};
}

std::vector<FieldProblem> LabelProblems(const api::ModelSpec& spec) {
  const std::optional<Path> folder = SourceFolder(spec.source_uri);
  const std::vector<int64_t> versions = folder ? VersionsIn(*folder) : std::vector<int64_t>{};
  std::vector<FieldProblem> problems;
  for (const auto& [label, version] : spec.version_labels) {
    if (versions.empty() || std::ranges::find(versions, version) != versions.end()) continue;
    problems.push_back({"spec.labels." + label, NoVersion(*folder, version, versions.back())});
  }
  return problems;
}

}  // namespace longshore::cli::input
