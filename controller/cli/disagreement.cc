#include "controller/cli/disagreement.h"

#include <algorithm>
#include <vector>

#include "controller/api/format.h"
#include "controller/cli/text/diff.h"
#include "controller/store/document.h"
#include "controller/store/local/manifest_files.h"

namespace longshore::cli {
namespace {

// A stored spec may lack fields that a later release added. Parsing it and writing it again adds their defaults.
store::Object WithDefaults(store::Object object) {
  if (object.kind == api::kModelKind) {
    if (const auto spec = api::ModelSpecFromJson(object.spec, object.metadata.name)) object.spec = api::ToJson(*spec);
  } else if (const auto spec = api::ServingFleetSpecFromJson(object.spec)) {
    object.spec = api::ToJson(*spec);
  }
  return object;
}

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
  return fmt::format("{} says {}; {} {} {} from `longshore apply`{}\n", file, ValueText(first.path, first.after),
                     api::ToString(key), are == ObjectsAre::kPlanned ? "would have" : "has",
                     ValueText(first.path, first.before),
                     more == 0 ? "" : fmt::format(" (and {} more field{})", more, more == 1 ? "" : "s"));
}

std::string DisagreementText(const std::string& file, const store::Object& wanted,
                             const std::optional<store::Object>& object, ObjectsAre are) {
  const api::Key key = store::KeyOf(wanted);
  if (!object) return fmt::format("{} defines {}, which `longshore delete` deleted\n", file, api::ToString(key));
  const std::vector<text::Difference> differences =
      text::Differences(store::ToDocument(WithDefaults(*object)), store::ToDocument(wanted));
  return differences.empty() ? "" : SentenceOf(file, key, differences, are);
}

std::vector<store::local::ManifestFile> FilesOf(const Place& place) {
  if (place.manifests.empty()) return {};
  return store::local::ReadManifestFiles(place.manifests);
}

}  // namespace

std::string DisagreementsText(const Place& place, const Objects& objects, ObjectsAre are) {
  std::string text;
  for (const store::local::ManifestFile& file : FilesOf(place)) {
    if (!file.is_taken) continue;
    const auto wanted = store::local::ObjectsOf(file);
    if (!wanted) continue;  // An earlier release accepted this text; this release does not.
    for (const store::Object& one : *wanted) {
      const auto found = objects.find(store::KeyOf(one));
      if (found == objects.end() || !file.objects.contains(found->first)) continue;
      text += DisagreementText((place.manifests / file.name).string(), one, found->second, are);
    }
  }
  if (!text.empty()) text += "A file is applied again when its content changes, or by `longshore apply -f FILE`.\n";
  return text;
}

std::vector<api::Key> KeysOfManifests(const Place& place) {
  std::vector<api::Key> keys;
  for (const store::local::ManifestFile& file : FilesOf(place)) {
    if (file.is_taken) keys.insert(keys.end(), file.objects.begin(), file.objects.end());
  }
  return keys;
}

}  // namespace longshore::cli
