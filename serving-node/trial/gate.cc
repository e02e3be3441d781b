#include "serving-node/trial/gate.h"

#include <sys/eventfd.h>

#include <algorithm>

#include "common/log.h"
#include "serving-node/models/model_store.h"
#include "serving-node/saved_model/digest.h"

namespace longshore::trial {

// What the state says about a version that is to be loaded.
struct Gate::Asked {
  Try what;
  bool stable = false;  // What serves is never quarantined: a power cut while it loads is not its fault.
  bool trial = false;
  std::optional<int64_t> stable_version;  // Where it is another one.
  std::optional<Path> stable_folder;      // What holds that, where it is known.
  std::string digest;
  control::Validation validation;
  bool warm_up = true;
};

Status Gate::CheckDigest(const Asked& asked, const Path& version_dir, const Result<std::string>& digest) {
  if (!digest) return tl::make_unexpected(digest.error());
  if (*digest == asked.digest) return {};
  return FailedPrecondition("\"{}\" version {}: the files in {} have the digest {}, not {} as verified first",
                            asked.what.model, asked.what.version, version_dir.string(), *digest, asked.digest);
}

Gate::Gate(GateOptions options, Journal& journal)
    : options_(std::move(options)), journal_(journal), stop_(eventfd(0, EFD_CLOEXEC)) {}

void Gate::Stop() {
  eventfd_write(stop_.get(), 1);
  std::map<std::pair<std::string, int64_t>, Try> loading;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    // The process may end after this: nobody may still be about to write that it begins.
    begun_.wait(lock, [this] { return beginning_ == 0; });
    loading.swap(loading_);
  }
  for (const auto& [version, what] : loading) journal_.End(what);
}

void Gate::SetState(std::shared_ptr<const control::DesiredState> state) {
  const std::lock_guard lock(mutex_);
  state_ = std::move(state);
}

Gate::Asked Gate::Ask(const std::string& model, int64_t version) const {
  std::shared_ptr<const control::DesiredState> state;
  {
    const std::lock_guard lock(mutex_);
    state = state_;
  }
  Asked asked{{model, version, ""}, false, false, std::nullopt, std::nullopt, "", {}, true};
  if (!state) return asked;
  const auto found = std::ranges::find(state->models(), model, &control::ModelState::served_name);
  if (found == state->models().end()) return asked;
  asked.what.attempt = found->assignment().salt();
  asked.validation = found->validation();
  asked.warm_up = !found->skip_warm_up();
  const auto entry = std::ranges::find(found->versions(), version, &control::VersionState::version);
  if (entry == found->versions().end()) return asked;
  asked.stable = entry->role() == control::STABLE;
  asked.trial = entry->trial();
  asked.digest = entry->digest();
  const auto stable = std::ranges::find(found->versions(), control::STABLE, &control::VersionState::role);
  if (stable == found->versions().end() || stable == entry) return asked;
  asked.stable_version = stable->version();
  if (!options_.folder_of) return asked;
  if (auto folder = options_.folder_of(*found, stable->version())) asked.stable_folder = std::move(*folder);
  return asked;
}

Status Gate::Admit(const std::string& model, int64_t version, const Path& version_dir) {
  const Asked asked = Ask(model, version);
  if (const auto why = asked.stable ? std::nullopt : journal_.Quarantined(asked.what)) {
    return FailedPrecondition("\"{}\" version {} is quarantined: {}", model, version, *why);
  }
  if (!asked.digest.empty() || asked.trial) {
    const auto digest = saved_model::VersionDigest(version_dir);
    if (!asked.digest.empty()) RETURN_IF_ERROR(CheckDigest(asked, version_dir, digest));
    if (asked.trial) RETURN_IF_ERROR(RunOnce(asked, version_dir, digest));
  }
  return asked.stable ? Status() : BeginLoading(asked.what);
}

Status Gate::BeginLoading(const Try& what) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Cancelled("\"{}\" version {} is not loaded: the node leaves", what.model, what.version);
    ++beginning_;
  }
  const Status begun = journal_.Begin(what, Deed::kLoading);
  {
    const std::lock_guard lock(mutex_);
    --beginning_;
    if (begun) loading_.insert_or_assign({what.model, what.version}, what);
  }
  begun_.notify_all();
  return begun;
}

void Gate::Loaded(const std::string& model, int64_t version) {
  std::optional<Try> what;
  {
    const std::lock_guard lock(mutex_);
    const auto found = loading_.find({model, version});
    if (found == loading_.end()) return;
    what = found->second;
    loading_.erase(found);
  }
  journal_.End(*what);
}

// `digest` is that of the files before the trial.
Status Gate::RunOnce(const Asked& asked, const Path& version_dir, const Result<std::string>& digest) {
  const std::lock_guard one_at_a_time(trials_mutex_);
  auto result = Golden(asked.what.model, asked.what.version);
  if (!result) {
    const auto tried = Run(asked, version_dir);
    if (saved_model::VersionDigest(version_dir) != digest) {
      return Unavailable("{} is still being copied: its files changed during the trial", version_dir.string());
    }
    Note(asked.what, tried);
    ASSIGN_OR_RETURN(result, tried);
  }
  if (result->ok()) return {};
  return FailedPrecondition("\"{}\" version {}: {}", asked.what.model, asked.what.version, result->message());
}

Result<control::GoldenResult> Gate::Run(const Asked& asked, const Path& version_dir) {
  {
    const std::lock_guard lock(mutex_);
    in_trial_ = asked.what;
  }
  TrialOptions options = options_.trial;
  options.model = asked.what.model;
  options.version = asked.what.version;
  options.version_dir = version_dir;
  options.validation = asked.validation;
  options.warm_up = asked.warm_up;
  if (asked.stable_version) {
    const Path beside = asked.stable_folder.value_or(version_dir.parent_path());
    options.stable_dir = models::FindVersionDir(beside, *asked.stable_version).value_or(Path());
  }
  options.stop_fd = stop_.get();
  auto result = RunTrial(options);
  const std::lock_guard lock(mutex_);
  in_trial_.reset();
  return result;
}

void Gate::Note(const Try& what, const Result<control::GoldenResult>& result) {
  if (!result && (result.error().code == Code::kAborted || result.error().code == Code::kDeadlineExceeded)) {
    // It kills or hangs its process: that is not tried a second time by itself, not even after a restart.
    if (auto noted = journal_.Quarantine(what, result.error().message); !noted) {
      spdlog::warn("quarantine: {}", ToString(noted.error()));
    }
  }
  if (!result) return;
  const std::lock_guard lock(mutex_);
  results_.insert_or_assign(what, *result);
  while (results_.size() > kResultsMax) results_.erase(results_.begin());
}

std::optional<control::GoldenResult> Gate::Golden(const std::string& model, int64_t version) const {
  const Try what = Ask(model, version).what;
  const std::lock_guard lock(mutex_);
  const auto found = results_.find(what);
  if (found == results_.end()) return std::nullopt;
  return found->second;
}

bool Gate::InTrial(const std::string& model, int64_t version) const {
  const std::lock_guard lock(mutex_);
  return in_trial_ && in_trial_->model == model && in_trial_->version == version;
}

std::optional<std::string> Gate::Quarantined(const std::string& model, int64_t version) const {
  const Asked asked = Ask(model, version);
  return asked.stable ? std::nullopt : journal_.Quarantined(asked.what);
}

}  // namespace longshore::trial
