#include "controller/cli/commands.h"

#include <condition_variable>
#include <mutex>

#include "controller/api/format.h"
#include "controller/api/parse.h"

namespace longshore::cli {
namespace {

constexpr size_t kNamesInHintMax = 10;

// Puts the command on top of whatever else the status says by now.
Result<store::Object> PutCommand(store::Store& store, const api::Key& key, const std::string& verb) {
  for (int attempt = 0; attempt < kConflictRetriesMax; ++attempt) {
    ASSIGN_OR_RETURN(const store::Object object, GetOrHint(store, key));
    ASSIGN_OR_RETURN(api::Model model, ToModel(object));
    model.status.command =
        api::Command{.verb = verb, .generation = object.metadata.generation, .step = model.status.rollout.step_index};
    const auto written =
        store.PutStatus(key, object.metadata.uid, object.metadata.resource_version, api::ToJson(model.status));
    if (written || written.error().code != Code::kAborted) return written;
  }
  return Aborted("{}: its status changed with every one of {} attempts to write the command", api::ToString(key),
                 kConflictRetriesMax);
}

// Takes a command away that nobody took. What became of it, when somebody took it after all.
Result<std::optional<std::string>> Withdraw(store::Store& store, const api::Key& key) {
  for (int attempt = 0; attempt < kConflictRetriesMax; ++attempt) {
    ASSIGN_OR_RETURN(const store::Object object, store.Get(key));
    ASSIGN_OR_RETURN(api::Model model, ToModel(object));
    if (!model.status.command) return model.status.command_result;
    model.status.command.reset();
    const auto written =
        store.PutStatus(key, object.metadata.uid, object.metadata.resource_version, api::ToJson(model.status));
    if (written) return std::nullopt;
    if (written.error().code != Code::kAborted) return tl::make_unexpected(written.error());
  }
  return Aborted("{}: the command could not be withdrawn", api::ToString(key));
}

// Wakes up when this object may have changed.
class Changes {
 public:
  static Result<std::unique_ptr<Changes>> Watch(store::Store& store, const api::Key& key) {
    auto changes = std::make_unique<Changes>();
    Changes* const raw = changes.get();
    ASSIGN_OR_RETURN(changes->watch_, store.WatchAll([raw, key](const api::Key& changed) {
      if (changed == key) raw->Notice();
    }));
    return changes;
  }

  // False when nothing changed before the deadline.
  bool WaitUntil(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    const bool noticed = noticed_.wait_until(lock, deadline, [this] { return changed_; });
    changed_ = false;
    return noticed;
  }

 private:
  void Notice() {
    const std::lock_guard lock(mutex_);
    changed_ = true;
    noticed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable noticed_;
  bool changed_ = false;
  std::unique_ptr<store::Watch> watch_;  // Last, so that it ends before what it writes to.
};

}  // namespace

Result<api::Model> ToModel(const store::Object& object) {
  api::Model model{.metadata = object.metadata, .spec = {}, .status = {}};
  ASSIGN_OR_RETURN(model.spec, api::ModelSpecFromJson(object.spec, object.metadata.name));
  ASSIGN_OR_RETURN(model.status, api::ModelStatusFromJson(object.status));
  return model;
}

Result<api::ServingFleet> ToFleet(const store::Object& object) {
  api::ServingFleet fleet{.metadata = object.metadata, .spec = {}, .status = {}};
  ASSIGN_OR_RETURN(fleet.spec, api::ServingFleetSpecFromJson(object.spec));
  ASSIGN_OR_RETURN(fleet.status, api::ServingFleetStatusFromJson(object.status));
  return fleet;
}

Result<store::Object> GetOrHint(store::Store& store, const api::Key& key) {
  auto object = store.Get(key);
  if (object || object.error().code != Code::kNotFound) return object;
  ASSIGN_OR_RETURN(const store::Listing listing, store.List(key.kind));
  const std::vector<store::Object>& all = listing.objects;
  std::string names;
  for (size_t i = 0; i < all.size() && i < kNamesInHintMax; ++i) {
    names += (i == 0 ? "" : ", ") + all[i].metadata.name + " -n " + all[i].metadata.namespace_;
  }
  if (all.size() > kNamesInHintMax) names += ", ...";
  return NotFound("there is no {}; {}", api::ToString(key),
                  names.empty() ? "there is none of this kind" : "there is: " + names);
}

bool IsRefusal(const std::string& command_result) { return command_result.find(": refused: ") != std::string::npos; }

Result<std::vector<Applied>> ApplyManifest(store::Store& store, const std::string& file, const std::string& text,
                                           api::Home home, const std::string& namespace_) {
  ASSIGN_OR_RETURN(const std::vector<api::ParsedObject> parsed, api::ParseManifests(file, text, home, namespace_));
  std::vector<Applied> applied;
  for (const api::ParsedObject& object : parsed) {
    const api::Key key = api::KeyOf(object);
    const auto before = store.Get(key);
    if (!before && before.error().code != Code::kNotFound) return tl::make_unexpected(before.error());
    store::Object wanted{
        .metadata = object.metadata, .kind = object.kind, .spec = api::SpecToJson(object), .status = {}};
    ASSIGN_OR_RETURN(const store::Object after, store.Apply(wanted));
    const bool same = before && before->metadata.resource_version == after.metadata.resource_version;
    applied.push_back({.key = key, .what = !before ? "created" : same ? "unchanged" : "changed"});
  }
  return applied;
}

Status DeleteObject(store::Store& store, const api::Key& key) {
  ASSIGN_OR_RETURN(const store::Object object, GetOrHint(store, key));
  return store.Delete(key, object.metadata.uid);
}

Result<std::string> SendCommand(store::Store& store, const api::Key& key, const std::string& verb,
                                std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  ASSIGN_OR_RETURN(const auto changes, Changes::Watch(store, key));
  ASSIGN_OR_RETURN(const store::Object written, PutCommand(store, key, verb));
  while (true) {
    ASSIGN_OR_RETURN(const store::Object object, store.Get(key));
    ASSIGN_OR_RETURN(const api::Model model, ToModel(object));
    if (!model.status.command) return model.status.command_result;
    if (!changes->WaitUntil(deadline)) break;
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> late, Withdraw(store, key));
  if (late) return *late;
  return DeadlineExceeded(
      "nobody took \"{} {}\" within {} ms, so it was withdrawn; is its longshore-controller running?",
      verb, key.name, patience.count());
}

}  // namespace longshore::cli
