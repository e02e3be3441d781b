#include "controller/store/local/manifests.h"

#include <utility>

#include "common/os/file.h"
#include "common/os/log.h"
#include "controller/api/parse.h"
#include "controller/store/document.h"

namespace longshore::store::local {

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
  if (error) {
    const Status created = Unavailable("cannot create {}: {}", index_.string(), error.message());
    on_write_(created);
    return created;
  }
  for (const auto& entry : std::filesystem::directory_iterator(index_, error)) {
    if (entry.path().extension() == ".json") unread_.insert(entry.path().stem());
  }
  std::erase_if(unread_, [this](const std::string& file) { return LoadTaken(file).has_value(); });
  index_loaded_ = true;
  return {};
}

Status Manifests::LoadTaken(const std::string& file) {
  ASSIGN_OR_RETURN(std::optional<TakenManifest> taken, ReadTaken(index_, file));
  if (taken) taken_[file] = Taken{std::move(*taken), true};
  return {};
}

// A command that writes a manifest file also changes its objects. It records the text in the index before it writes it.
void Manifests::TakeFromCommand(const std::string& file, const std::string& digest) {
  const auto known = taken_.find(file);
  if (known == taken_.end() || known->second.digest == digest) return;
  const auto recorded = ReadTaken(index_, file);
  if (recorded && *recorded && (*recorded)->digest == digest) known->second = Taken{**recorded, true};
}

void Manifests::Save(const std::string& file) {
  Taken& taken = taken_.at(file);
  const Status saved = WriteTaken(index_, file, taken);
  taken.saved = saved.has_value();
  on_write_(saved);
  if (!saved) Report(file, "NotApplied", "cannot record what was applied: " + saved.error().message, {});
}

void Manifests::ReadOne(const std::string& file, Store& store) {
  if (unread_.contains(file)) {
    if (const Status loaded = LoadTaken(file); !loaded) {
      return Report(
          file, "NotApplied",
          "its index file is damaged; to apply the manifest again, remove that file: " + loaded.error().message, {});
    }
    unread_.erase(file);
  }
  const auto text = ReadFile(dir_ / file, api::kManifestBytesMax);
  if (!text && text.error().code == Code::kNotFound) {
    present_.erase(file);  // The file was deleted between listing and reading.
    return;
  }
  if (!text) return Report(file, "Invalid", text.error().message, ObjectsEverIn(file));
  const std::string digest = DigestOf(*text);
  TakeFromCommand(file, digest);
  const auto before = taken_.find(file);
  const bool is_new_text = before == taken_.end() || before->second.digest != digest;
  const bool is_done = !is_new_text && before->second.refused.empty() && before->second.saved;
  if (is_done && before->second.refreshed) return;
  const auto objects = api::ParseManifests(file, *text);
  if (is_done && !objects) return;  // This text was taken by an earlier release, which accepted it.
  if (!objects) return Report(file, "Invalid", InOneLine(objects.error().message), ObjectsEverIn(file));
  if (is_new_text) TakeNewText(file, digest, *objects);
  if (!is_new_text && !before->second.refreshed) Refresh(file, *objects);
  ApplyRefused(file, *objects, store);
}

// Marks the objects of the new text that must be applied: those whose meaning differs from what was last applied from
// this file. Objects that only older texts defined stay in the store.
void Manifests::TakeNewText(const std::string& file, const std::string& digest,
                            const std::vector<api::ParsedObject>& objects) {
  const Taken before = taken_.contains(file) ? taken_.at(file) : Taken{};
  Taken next;
  next.digest = digest;
  next.gone = ObjectsEverIn(file);
  next.refreshed = true;
  for (const api::ParsedObject& object : objects) {
    const api::Key key = api::KeyOf(object);
    if (next.gone.erase(key) > 0) next.objects.insert(key);
    const auto last = before.meanings.find(key);
    if (last != before.meanings.end()) next.meanings.insert(*last);
    if (last == before.meanings.end() || last->second != MeaningOf(ObjectOf(object))) next.refused.insert(key);
  }
  taken_[file] = std::move(next);
}

// Computes the meanings of an unchanged text again. Another release, with other fields and defaults, may have computed
// the stored ones, but a later edit must be compared with what this release reads.
void Manifests::Refresh(const std::string& file, const std::vector<api::ParsedObject>& objects) {
  Taken& taken = taken_.at(file);
  const auto before = taken.meanings;
  for (const api::ParsedObject& object : objects) {
    const api::Key key = api::KeyOf(object);
    if (taken.objects.contains(key) && !taken.refused.contains(key)) taken.meanings[key] = MeaningOf(ObjectOf(object));
  }
  taken.refreshed = true;
  if (taken.meanings != before) Save(file);
}

// Applies the objects in `refused`, which are not applied yet. An object that another file defines, or that the store
// rejects, stays in `refused` and is tried again at every Read, because the reason may no longer exist.
void Manifests::ApplyRefused(const std::string& file, const std::vector<api::ParsedObject>& objects, Store& store) {
  Taken& taken = taken_.at(file);
  const std::set<api::Key> refused = std::exchange(taken.refused, {});
  for (const api::ParsedObject& object : objects) {
    const api::Key key = api::KeyOf(object);
    if (!refused.contains(key)) continue;
    const std::string where = fmt::format("{}:{}", file, object.line);
    if (const auto owner = OwnerOf(key, file); owner) {
      taken.objects.erase(key);
      taken.meanings.erase(key);
      taken.refused.insert(key);
      Report(file, "Duplicate", fmt::format("{}: {} is already defined in {}", where, ToString(key), *owner), {key});
      continue;
    }
    const Object wanted = ObjectOf(object);
    const auto applied = store.Apply(wanted);
    if (!applied) {
      taken.refused.insert(key);
      const bool mistake = applied.error().code == Code::kInvalidArgument;
      Report(file, mistake ? "Invalid" : "NotApplied", where + ": " + applied.error().message, {key});
      continue;
    }
    taken.objects.insert(key);
    taken.meanings[key] = MeaningOf(wanted);
    spdlog::info("{}: applied {} as generation {}", where, ToString(key), applied->metadata.generation);
  }
  if (!taken.saved || taken.refused != refused) Save(file);
}

std::set<api::Key> Manifests::ObjectsEverIn(const std::string& file) const {
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
    const bool is_present = present_.contains(file);
    for (const api::Key& key : is_present ? taken.gone : ObjectsEverIn(file)) {
      if (OwnerOf(key, "") || !store.Get(key)) continue;
      const std::string change =
          is_present ? fmt::format("it is no longer in {}", file) : fmt::format("its file {} was deleted", file);
      const std::string message = fmt::format(
          "{} still exists, although {}; to remove the object, use `longshore delete`", ToString(key), change);
      Report(file, "Vanished", message, {key});
    }
  }
}

}  // namespace longshore::store::local
