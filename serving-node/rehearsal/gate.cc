#include "serving-node/rehearsal/gate.h"

#include <sys/eventfd.h>

#include <algorithm>

#include "common/os/log.h"
#include "common/version_files/digest.h"
#include "common/version_files/folder.h"
#include "serving-node/models/model_store.h"

namespace longshore::rehearsal {

// What the desired state requires for the load of a version.
struct Gate::Requirements {
  Attempt what;
  // Whether this is the stable version, which is never quarantined: a power failure during its load is not its fault.
  bool stable = false;
  bool rehearse = false;
  std::optional<int64_t> stable_version;  // Set if another version is the stable one.
  std::optional<Path> stable_folder;      // The folder that holds the stable version, if known.
  std::string digest;
  control::Validation validation;
  bool warm_up = true;
};

Status Gate::CheckDigest(const Requirements& required, const Path& version_dir, const Result<std::string>& digest) {
  if (!digest) return tl::make_unexpected(digest.error());
  if (*digest == required.digest) return {};
  return FailedPrecondition("model \"{}\" version {}: the files in {} have the digest {}, not the pinned digest {}",
                            required.what.model, required.what.version, version_dir.string(), *digest, required.digest);
}

Gate::Gate(GateOptions options, Journal& journal)
    : options_(std::move(options)), journal_(journal), stop_(eventfd(0, EFD_CLOEXEC)) {}

void Gate::Stop() {
  eventfd_write(stop_.get(), 1);
  std::map<std::pair<std::string, int64_t>, Attempt> loading;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    // The process may end after this call. So wait for threads that are writing the start of a load into the journal.
    begun_.wait(lock, [this] { return beginning_ == 0; });
    loading.swap(loading_);
  }
  for (const auto& [version, what] : loading) journal_.End(what);
}

void Gate::SetState(std::shared_ptr<const control::DesiredState> state) {
  const std::lock_guard lock(mutex_);
  state_ = std::move(state);
}

Gate::Requirements Gate::RequirementsOf(const std::string& model, int64_t version) const {
  std::shared_ptr<const control::DesiredState> state;
  {
    const std::lock_guard lock(mutex_);
    state = state_;
  }
  Requirements required{{model, version, ""}, false, false, std::nullopt, std::nullopt, "", {}, true};
  if (!state) return required;
  const auto found = std::ranges::find(state->models(), model, &control::ModelState::served_name);
  if (found == state->models().end()) return required;
  required.what.attempt = found->assignment().salt();
  required.validation = found->validation();
  required.warm_up = !found->skip_warm_up();
  const auto entry = std::ranges::find(found->versions(), version, &control::VersionState::version);
  if (entry == found->versions().end()) return required;
  required.stable = entry->role() == control::STABLE;
  required.rehearse = entry->rehearse();
  required.digest = entry->digest();
  const auto stable = std::ranges::find(found->versions(), control::STABLE, &control::VersionState::role);
  if (stable == found->versions().end() || stable == entry) return required;
  required.stable_version = stable->version();
  if (!options_.folder_of) return required;
  if (auto folder = options_.folder_of(*found, stable->version())) required.stable_folder = std::move(*folder);
  return required;
}

Status Gate::Admit(const std::string& model, int64_t version, const Path& version_dir) {
  const Requirements required = RequirementsOf(model, version);
  if (const auto why = required.stable ? std::nullopt : journal_.Quarantined(required.what)) {
    return FailedPrecondition("model \"{}\" version {} is quarantined: {}", model, version, *why);
  }
  if (!required.digest.empty() || required.rehearse) {
    const auto digest = version_files::VersionDigest(version_dir);
    if (!required.digest.empty()) RETURN_IF_ERROR(CheckDigest(required, version_dir, digest));
    if (required.rehearse) RETURN_IF_ERROR(RunOnce(required, version_dir, digest));
  }
  return required.stable ? Status() : BeginLoading(required.what);
}

Status Gate::BeginLoading(const Attempt& what) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_)
      return Cancelled("model \"{}\" version {} is not loaded: the node is shutting down", what.model, what.version);
    ++beginning_;
  }
  const Status begun = journal_.Begin(what, Activity::kLoading);
  {
    const std::lock_guard lock(mutex_);
    --beginning_;
    if (begun) loading_.insert_or_assign({what.model, what.version}, what);
  }
  begun_.notify_all();
  return begun;
}

void Gate::Loaded(const std::string& model, int64_t version) {
  std::optional<Attempt> what;
  {
    const std::lock_guard lock(mutex_);
    const auto found = loading_.find({model, version});
    if (found == loading_.end()) return;
    what = found->second;
    loading_.erase(found);
  }
  journal_.End(*what);
}

// Rehearses the version unless its current attempt already has a result. `digest` is the digest of the files before the
// rehearsal.
Status Gate::RunOnce(const Requirements& required, const Path& version_dir, const Result<std::string>& digest) {
  const std::lock_guard one_at_a_time(rehearsals_mutex_);
  auto result = Golden(required.what.model, required.what.version);
  if (!result) {
    const auto tried = Run(required, version_dir);
    if (version_files::VersionDigest(version_dir) != digest) {
      return Unavailable("{} is still being copied: its files changed during the rehearsal", version_dir.string());
    }
    Note(required.what, tried);
    ASSIGN_OR_RETURN(result, tried);
  }
  if (result->ok()) return {};
  return FailedPrecondition("model \"{}\" version {}: {}", required.what.model, required.what.version,
                            result->message());
}

Result<control::GoldenResult> Gate::Run(const Requirements& required, const Path& version_dir) {
  {
    const std::lock_guard lock(mutex_);
    in_rehearsal_ = required.what;
  }
  RehearsalOptions options = options_.rehearsal;
  options.model = required.what.model;
  options.version = required.what.version;
  options.version_dir = version_dir;
  options.validation = required.validation;
  options.warm_up = required.warm_up;
  if (required.stable_version) {
    const Path stable_folder = required.stable_folder.value_or(version_dir.parent_path());
    options.stable_dir = version_files::FindVersionDir(stable_folder, *required.stable_version).value_or(Path());
  }
  options.stop_fd = stop_.get();
  auto result = RunRehearsal(options);
  const std::lock_guard lock(mutex_);
  in_rehearsal_.reset();
  return result;
}

void Gate::Note(const Attempt& what, const Result<control::GoldenResult>& result) {
  if (!result && (result.error().code == Code::kAborted || result.error().code == Code::kDeadlineExceeded)) {
    // The version crashes or hangs its process, so it is tried again only in a new attempt, even after a restart.
    if (auto noted = journal_.Quarantine(what, result.error().message); !noted) {
      spdlog::warn("cannot store the quarantine of model \"{}\" version {}: {}", what.model, what.version,
                   ToString(noted.error()));
    }
  }
  if (!result) return;
  const std::lock_guard lock(mutex_);
  results_.insert_or_assign(what, *result);
  while (results_.size() > kResultsMax) results_.erase(results_.begin());
}

std::optional<control::GoldenResult> Gate::Golden(const std::string& model, int64_t version) const {
  const Attempt what = RequirementsOf(model, version).what;
  const std::lock_guard lock(mutex_);
  const auto found = results_.find(what);
  if (found == results_.end()) return std::nullopt;
  return found->second;
}

bool Gate::InRehearsal(const std::string& model, int64_t version) const {
  const std::lock_guard lock(mutex_);
  return in_rehearsal_ && in_rehearsal_->model == model && in_rehearsal_->version == version;
}

std::optional<std::string> Gate::Quarantined(const std::string& model, int64_t version) const {
  const Requirements required = RequirementsOf(model, version);
  return required.stable ? std::nullopt : journal_.Quarantined(required.what);
}

}  // namespace longshore::rehearsal
