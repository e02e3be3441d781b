#include "controller/store/local/manifest_files.h"

#include <optional>
#include <utility>

#include "common/os/file.h"
#include "controller/store/document.h"
#include "controller/store/local/manifest_problem.h"
#include "controller/store/local/records.h"

namespace longshore::store::local {
namespace {

void TakeFromIndex(const TakenManifest& taken, ManifestFile& file) {
  file.is_taken = taken.digest == DigestOf(file.text);
  file.objects = taken.objects;
  if (!file.is_taken) return;
  file.refused = taken.refused;
  for (const api::Key& key : taken.refused) file.objects.erase(key);
}

void ReadText(const Path& dir, ManifestFile& file) {
  const auto taken = ReadTaken(ManifestIndexOf(dir), file.name);
  auto text = ReadFile(dir / file.name, api::kManifestBytesMax);
  if (text) file.text = std::move(*text);
  if (taken && *taken) TakeFromIndex(**taken, file);
  if (!text || !taken) file.mistake = text ? taken.error().message : text.error().message;
  if (file.is_taken || !file.mistake.empty()) return;
  const auto objects = ObjectsOf(file);
  if (!objects) file.mistake = InOneLine(objects.error().message);
  if (!objects) return;
  for (const Object& object : *objects) file.not_taken.insert(KeyOf(object));
}

}  // namespace

std::vector<ManifestFile> ReadManifestFiles(const Path& dir) {
  std::vector<ManifestFile> files;
  for (const std::string& name : ManifestNames(dir)) {
    ManifestFile& file = files.emplace_back();
    file.name = name;
    ReadText(dir, file);
  }
  return files;
}

Result<std::vector<Object>> ObjectsOf(const ManifestFile& file) {
  ASSIGN_OR_RETURN(const std::vector<api::ParsedObject> parsed, api::ParseManifests(file.name, file.text));
  std::vector<Object> objects;
  for (const api::ParsedObject& object : parsed) objects.push_back(ObjectOf(object));
  return objects;
}

Result<process::Descriptor> LockForEdit(const Path& dir) { return LockFile(dir / ".longshore" / "edit.lock"); }

Status ReplaceText(const Path& dir, const ManifestFile& file, const std::string& text) {
  const Path index = ManifestIndexOf(dir);
  ASSIGN_OR_RETURN(const std::optional<TakenManifest> before, ReadTaken(index, file.name));
  if (!before || before->digest != DigestOf(file.text)) return ReplaceFileAtomically(dir / file.name, text);
  TakenManifest taken = *before;
  taken.digest = DigestOf(text);
  ASSIGN_OR_RETURN(const std::vector<api::ParsedObject> objects, api::ParseManifests(file.name, text));
  for (const api::ParsedObject& object : objects) {
    if (const auto meaning = taken.meanings.find(api::KeyOf(object)); meaning != taken.meanings.end())
      meaning->second = MeaningOf(ObjectOf(object));
  }
  // The index first: a controller that sees the new text finds it in the index.
  RETURN_IF_ERROR(WriteTaken(index, file.name, taken));
  const Status written = ReplaceFileAtomically(dir / file.name, text);
  if (!written) RETURN_IF_ERROR(WriteTaken(index, file.name, *before));
  return written;
}

}  // namespace longshore::store::local
