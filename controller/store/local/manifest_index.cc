#include "controller/store/local/manifest_index.h"

#include "common/base/sha256.h"
#include "common/json/json.h"
#include "common/os/file.h"
#include "common/os/json_file.h"
#include "controller/api/format.h"
#include "controller/store/document.h"

namespace longshore::store::local {
namespace {

api::Key KeyFromJson(const Json& json) { return {json.at("kind"), json.at("namespace"), json.at("name")}; }

Json KeyToJson(const api::Key& key) { return {{"kind", key.kind}, {"namespace", key.namespace_}, {"name", key.name}}; }

std::set<api::Key> KeysFromJson(const Json& json) {
  std::set<api::Key> keys;
  for (const Json& entry : json) keys.insert(KeyFromJson(entry));
  return keys;
}

Json KeysToJson(const std::set<api::Key>& keys) {
  Json json = Json::array();
  for (const api::Key& key : keys) json.push_back(KeyToJson(key));
  return json;
}

// Reads the field "meaning" of each object. Index files of earlier releases do not have this field.
std::map<api::Key, std::string> MeaningsFromJson(const Json& objects) {
  std::map<api::Key, std::string> meanings;
  for (const Json& entry : objects) {
    if (entry.contains("meaning")) meanings[KeyFromJson(entry)] = entry.at("meaning");
  }
  return meanings;
}

Json ObjectsToJson(const TakenManifest& taken) {
  Json json = Json::array();
  for (const api::Key& key : taken.objects) {
    Json& entry = json.emplace_back(KeyToJson(key));
    if (const auto meaning = taken.meanings.find(key); meaning != taken.meanings.end())
      entry["meaning"] = meaning->second;
  }
  return json;
}

}  // namespace

Path ManifestIndexOf(const Path& dir) { return dir / ".longshore" / "manifests"; }

std::set<std::string> ManifestNames(const Path& dir) {
  std::set<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(dir, error), end; !error && at != end; at.increment(error)) {
    const Path& path = at->path();
    const bool yaml = path.extension() == ".yaml" || path.extension() == ".yml";
    if (yaml && path.filename().string().front() != '.') names.insert(path.filename());
  }
  return names;
}

Result<std::optional<TakenManifest>> ReadTaken(const Path& index, const std::string& file) {
  const Path path = index / (file + ".json");
  ASSIGN_OR_RETURN(const std::optional<Json> json, ReadJsonFile(path));
  if (!json) return std::nullopt;
  try {
    return TakenManifest{json->at("digest"), KeysFromJson(json->at("objects")), KeysFromJson(json->at("gone")),
                         KeysFromJson(json->value("refused", Json::array())), MeaningsFromJson(json->at("objects"))};
  } catch (const Json::exception& error) {
    return DataLoss("{}: {}", path.string(), error.what());
  }
}

Status WriteTaken(const Path& index, const std::string& file, const TakenManifest& taken) {
  const Json json = {{"digest", taken.digest},
                     {"objects", ObjectsToJson(taken)},
                     {"gone", KeysToJson(taken.gone)},
                     {"refused", KeysToJson(taken.refused)}};
  return WriteFileAtomically(index / (file + ".json"), DumpJson(json, 1) + "\n");
}

Object ObjectOf(const api::ParsedObject& parsed) {
  return {.metadata = parsed.metadata, .kind = parsed.kind, .spec = api::SpecToJson(parsed), .status = Json()};
}

std::string DigestOf(std::string_view text) { return ToHex(Sha256(text)); }

std::string MeaningOf(const Object& object) {
  const Json meaning = {
      {"labels", object.metadata.labels}, {"annotations", object.metadata.annotations}, {"spec", object.spec}};
  return DigestOf(DumpJson(meaning));
}

}  // namespace longshore::store::local
