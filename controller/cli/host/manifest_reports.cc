#include "controller/cli/host/manifest_reports.h"

#include <algorithm>
#include <optional>
#include <string>

#include "controller/cli/host/definitions.h"

namespace longshore::cli::host {
namespace {

using Files = std::vector<store::local::ManifestFile>;

// The report about a file with objects that the controller could not apply. It applies no object that another file
// defines, until a person removes one of the two.
text::ManifestReport RefusedReport(const store::local::ManifestFile& file, const Files& files,
                                   const std::string& path) {
  for (const api::Key& key : file.refused) {
    if (const auto* other = OtherDefinition(key, file.name, files))
      return {path, true, {text::Standing::kFailed, AlreadyDefined(key, *other)}};
  }
  return {path,
          true,
          {text::Standing::kUnderWay, api::ToString(*file.refused.begin()) +
                                          " could not be applied from this file; see the log of the "
                                          "controller"}};
}

std::optional<text::ManifestReport> ReportOf(const store::local::ManifestFile& file, const Files& files,
                                             const Path& dir) {
  const std::string path = (dir / file.name).string();
  if (!file.mistake.empty()) return text::ManifestReport{path, true, {text::Standing::kFailed, file.mistake}};
  if (!file.is_taken) {
    return text::ManifestReport{
        path, false, {text::Standing::kUnderWay, "no controller has read the current content of this file yet"}};
  }
  if (!file.refused.empty()) return RefusedReport(file, files, path);
  if (!file.objects.empty()) return std::nullopt;
  return text::ManifestReport{path, true, {text::Standing::kAsWanted, "it defines no object"}};
}

void AddReport(const store::local::ManifestFile& file, const Files& files, const Path& dir, text::HostSeen& seen) {
  const std::optional<text::ManifestReport> report = ReportOf(file, files, dir);
  if (!report) return;
  const bool is_about_refused = file.is_taken && file.mistake.empty();
  for (const api::Key& key : is_about_refused ? file.refused : KeysOf(file)) {
    const auto [at, is_new] = seen.manifest_of.emplace(key, seen.manifests.size());
    if (!is_new && !report->is_read) at->second = seen.manifests.size();
  }
  seen.manifests.push_back(*report);
}

}  // namespace

std::set<api::Key> KeysOf(const store::local::ManifestFile& file) {
  std::set<api::Key> keys = file.objects;
  keys.insert(file.refused.begin(), file.refused.end());
  keys.insert(file.not_taken.begin(), file.not_taken.end());
  return keys;
}

text::HostSeen SeenOf(const std::vector<store::local::ManifestFile>& files, const Path& dir,
                      const std::function<bool(const store::local::ManifestFile&)>& is_wanted) {
  text::HostSeen seen{.is_host = !dir.empty()};
  for (const store::local::ManifestFile& file : files) {
    if (!is_wanted || is_wanted(file)) AddReport(file, files, dir, seen);
  }
  return seen;
}

}  // namespace longshore::cli::host
