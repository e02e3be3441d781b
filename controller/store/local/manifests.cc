#include "controller/store/local/manifests.h"

#include <utility>

#include "common/log.h"
#include "common/sha256.h"
#include "controller/api/format.h"
#include "controller/api/parse.h"
#include "controller/store/document.h"

namespace longshore::store {
namespace {

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

std::set<api::Key> KeysFromJson(const Json& json) {
  std::set<api::Key> keys;
  for (const Json& entry : json) keys.insert({entry.at("kind"), entry.at("namespace"), entry.at("name")});
  return keys;
}

Json KeysToJson(const std::set<api::Key>& keys) {
  Json json = Json::array();
  for (const api::Key& key : keys) {
    json.push_back({{"kind", key.kind}, {"namespace", key.namespace_}, {"name", key.name}});
  }
  return json;
}

}  // namespace

Status Manifests::Read(Store& store) {
  RETURN_IF_ERROR(LoadIndex());
  problems_before_ = std::exchange(problems_, {});
  problems_of_objects_.clear();
  present_ = ManifestNames(dir_);
  const std::set<std::string> listed = present_;
  for (const std::string& file : listed) ReadOne(file, store);
  ReportVanished(store);
  return {};
}

std::optional<ManifestProblem> Manifests::ProblemOf(const api::Key& key) const {
  const auto found = problems_of_objects_.find(key);
  if (found == problems_of_objects_.end()) return std::nullopt;
  return found->second;
}

std::vector<ManifestProblem> Manifests::Problems() const {
  std::vector<ManifestProblem> problems;
  for (const auto& [_, problem] : problems_) problems.push_back(problem);
  return problems;
}

Status Manifests::LoadIndex() {
  if (index_loaded_) return {};
  std::error_code error;
  std::filesystem::create_directories(index_, error);
  if (error) return Unavailable("cannot create {}: {}", index_.string(), error.message());
  for (const auto& entry : std::filesystem::directory_iterator(index_, error)) {
    if (entry.path().extension() == ".json") unread_.insert(entry.path().stem());
  }
  std::erase_if(unread_, [this](const std::string& file) { return LoadTaken(file).has_value(); });
  index_loaded_ = true;
  return {};
}

Status Manifests::LoadTaken(const std::string& file) {
  const Path path = index_ / (file + ".json");
  const auto text = ReadFile(path);
  if (!text && text.error().code == Code::kNotFound) return {};
  if (!text) return tl::make_unexpected(text.error());
  const Result<Json> json = ParseJson(*text);
  if (!json) return DataLoss("{}: {}", path.string(), json.error().message);
  try {
    taken_[file] = {json->at("digest"), KeysFromJson(json->at("objects")), KeysFromJson(json->at("gone")),
                    KeysFromJson(json->value("refused", Json::array())), true};
  } catch (const Json::exception& wrong) {
    return DataLoss("{}: {}", path.string(), wrong.what());
  }
  return {};
}

Status Manifests::SaveIndex(const std::string& file) const {
  const Taken& taken = taken_.at(file);
  const Json json = {{"digest", taken.digest},
                     {"objects", KeysToJson(taken.objects)},
                     {"gone", KeysToJson(taken.gone)},
                     {"refused", KeysToJson(taken.refused)}};
  return WriteFileAtomically(index_ / (file + ".json"), json.dump(1) + "\n");
}

void Manifests::ReadOne(const std::string& file, Store& store) {
  if (unread_.contains(file)) {
    if (const Status loaded = LoadTaken(file); !loaded) {
      return Report(file, "NotApplied",
                    "what was applied of it is unknown; remove the file to apply it again: " + loaded.error().message,
                    {});
    }
    unread_.erase(file);
  }
  const auto text = ReadFile(dir_ / file, api::kManifestBytesMax);
  if (!text && text.error().code == Code::kNotFound) {
    present_.erase(file);  // It went between listing and reading.
    return;
  }
  if (!text) return Report(file, "Invalid", text.error().message, KnownOf(file));
  const std::string digest = ToHex(Sha256(*text));
  const auto before = taken_.find(file);
  const bool new_text = before == taken_.end() || before->second.digest != digest;
  if (!new_text && before->second.refused.empty() && before->second.saved) return;
  const auto objects = api::ParseManifests(file, *text);
  if (!objects) return Report(file, "Invalid", objects.error().message, KnownOf(file));
  if (new_text) Begin(file, digest, *objects);
  ApplyRefused(file, *objects, store);
}

// All that the text holds is still to be applied; what was taken of an older text goes on.
void Manifests::Begin(const std::string& file, const std::string& digest,
                      const std::vector<api::ParsedObject>& objects) {
  Taken next{.digest = digest, .objects = {}, .gone = KnownOf(file), .refused = {}};
  for (const api::ParsedObject& object : objects) {
    const api::Key key = api::KeyOf(object);
    next.refused.insert(key);
    if (next.gone.erase(key) > 0) next.objects.insert(key);
  }
  taken_[file] = std::move(next);
}

// Each object is applied once. One that another file defines, or that the store did not take, is tried again at every
// Read: that may pass by itself.
void Manifests::ApplyRefused(const std::string& file, const std::vector<api::ParsedObject>& objects, Store& store) {
  Taken& taken = taken_.at(file);
  const std::set<api::Key> refused = std::exchange(taken.refused, {});
  for (const api::ParsedObject& object : objects) {
    const api::Key key = api::KeyOf(object);
    if (!refused.contains(key)) continue;
    const std::string where = fmt::format("{}:{}", file, object.line);
    if (const auto owner = OwnerOf(key, file); owner) {
      taken.objects.erase(key);
      taken.refused.insert(key);
      Report(file, "Duplicate", fmt::format("{}: {} is defined in {} already", where, ToString(key), *owner), {key});
      continue;
    }
    const auto applied = store.Apply({object.metadata, object.kind, api::SpecToJson(object), Json()});
    if (!applied) {
      taken.refused.insert(key);
      const bool mistake = applied.error().code == Code::kInvalidArgument;
      Report(file, mistake ? "Invalid" : "NotApplied", where + ": " + applied.error().message, {key});
      continue;
    }
    taken.objects.insert(key);
    spdlog::info("{}: {} is applied as generation {}", where, ToString(key), applied->metadata.generation);
  }
  if (taken.saved && taken.refused == refused) return;
  const Status saved = SaveIndex(file);
  taken.saved = saved.has_value();
  if (!saved) Report(file, "NotApplied", "what was applied is not written down: " + saved.error().message, {});
}

std::set<api::Key> Manifests::KnownOf(const std::string& file) const {
  const auto found = taken_.find(file);
  if (found == taken_.end()) return {};
  std::set<api::Key> known = found->second.objects;
  known.insert(found->second.gone.begin(), found->second.gone.end());
  return known;
}

std::optional<std::string> Manifests::OwnerOf(const api::Key& key, const std::string& except) const {
  for (const auto& [file, taken] : taken_) {
    if (file != except && present_.contains(file) && taken.objects.contains(key)) return file;
  }
  return std::nullopt;
}

void Manifests::Report(const std::string& file, const std::string& reason, const std::string& message,
                       const std::set<api::Key>& objects) {
  const ManifestProblem problem{file, reason, message};
  const std::string id = file + "\n" + message;
  if (!problems_before_.contains(id)) spdlog::warn("manifest {}: {}", file, message);
  problems_[id] = problem;
  for (const api::Key& key : objects) problems_of_objects_[key] = problem;
}

void Manifests::ReportVanished(Store& store) {
  for (const auto& [file, taken] : taken_) {
    const bool file_is_there = present_.contains(file);
    for (const api::Key& key : file_is_there ? taken.gone : KnownOf(file)) {
      if (OwnerOf(key, "") || !store.Get(key)) continue;
      const std::string what = file_is_there ? fmt::format("{} is no longer in {}", ToString(key), file)
                                             : fmt::format("{} vanished with {}", file, ToString(key));
      Report(file, "Vanished", what + " and goes on serving; to remove it, delete it by command", {key});
    }
  }
}

}  // namespace longshore::store
