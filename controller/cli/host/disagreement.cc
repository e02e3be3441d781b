#include "controller/cli/host/disagreement.h"

#include <algorithm>
#include <vector>

#include "controller/api/format.h"
#include "controller/cli/text/diff.h"
#include "controller/store/document.h"

namespace longshore::cli::host {
namespace {

// For example "spec.version" -> "version".
std::string FieldText(const std::string& path) { return path.starts_with("spec.") ? path.substr(5) : path; }

std::string ValueText(const std::string& path, const std::optional<Json>& value) {
  if (!value) return "no " + FieldText(path);
  return FieldText(path) + " " + value->dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Shows the difference of spec.version if there is one, because that field decides what is served; otherwise shows the
// first difference. In `differences`, `before` is the object and `after` is the file.
std::string SentenceOf(const std::string& file, const api::Key& key, const std::vector<text::Difference>& differences,
                       ObjectsAre are) {
  const auto version = std::ranges::find(differences, "spec.version", &text::Difference::path);
  const text::Difference& first = version != differences.end() ? *version : differences.front();
  const size_t more = differences.size() - 1;
  return fmt::format("{} says {}; {} {} {}{}", file, ValueText(first.path, first.after), api::ToString(key),
                     are == ObjectsAre::kPlanned ? "would have" : "has", ValueText(first.path, first.before),
                     more == 0 ? "" : fmt::format(" (and {} more field{})", more, more == 1 ? "" : "s"));
}

std::string SentenceOf(const std::string& file, const store::Object& wanted, const std::optional<store::Object>& object,
                       ObjectsAre are) {
  const api::Key key = store::KeyOf(wanted);
  if (!object) return fmt::format("{} defines {}, which `longshore delete` deleted", file, api::ToString(key));
  const std::vector<text::Difference> differences =
      text::Differences(store::ToDocument(store::WithDefaults(*object)), store::ToDocument(wanted));
  return differences.empty() ? "" : SentenceOf(file, key, differences, are);
}

std::vector<store::local::ManifestFile> FilesOf(const Path& manifests) {
  if (manifests.empty()) return {};
  return store::local::ReadManifestFiles(manifests);
}

}  // namespace

std::vector<Disagreement> DisagreementsOf(const std::vector<store::local::ManifestFile>& files, const Path& dir,
                                          const Objects& objects, ObjectsAre are) {
  std::vector<Disagreement> disagreements;
  for (const store::local::ManifestFile& file : files) {
    if (!file.is_taken) continue;
    const auto wanted = store::local::ObjectsOf(file);
    if (!wanted) continue;  // An earlier release accepted this text; this release does not.
    const std::string path = (dir / file.name).string();
    for (const store::Object& one : *wanted) {
      const auto found = objects.find(store::KeyOf(one));
      if (found == objects.end() || !file.objects.contains(found->first)) continue;
      std::string text = SentenceOf(path, one, found->second, are);
      if (!text.empty()) disagreements.push_back({found->first, path, std::move(text)});
    }
  }
  return disagreements;
}

std::string DisagreementsText(const Path& manifests, const Objects& objects, ObjectsAre are) {
  std::string text;
  for (const Disagreement& one : DisagreementsOf(FilesOf(manifests), manifests, objects, are)) text += one.text + "\n";
  if (!text.empty()) text += std::string(kDisagreementRemedy) + "\n";
  return text;
}

std::vector<api::Key> KeysOfManifests(const Path& manifests) {
  std::vector<api::Key> keys;
  for (const store::local::ManifestFile& file : FilesOf(manifests)) {
    if (file.is_taken) keys.insert(keys.end(), file.objects.begin(), file.objects.end());
  }
  return keys;
}

}  // namespace longshore::cli::host
