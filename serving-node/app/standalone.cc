#include "serving-node/app/standalone.h"

#include <algorithm>

#include "common/os/file.h"
#include "common/os/log.h"
#include "common/text_proto/text_proto.h"
#include "serving-node/app/models.h"
#include "serving-node/config/model_config.h"
#include "serving-node/observe/requestlog/policies.h"

namespace longshore::app {
namespace {

using models::ModelSource;
using models::State;
using tensorflow::serving::ModelServerConfig;

constexpr char kLeaving[] = "the node is shutting down";

models::Discovery::Options DiscoveryOptions(const flags::Flags& flags, models::ModelStore& store) {
  models::Discovery::Options options;
  options.poll_interval =
      std::chrono::milliseconds(static_cast<int64_t>(flags.loading.file_system_poll_wait_seconds * 1000));
  options.failed = [&store](const std::string& model, int64_t version) {
    return std::ranges::any_of(store.Statuses(model), [version](const models::VersionStatus& status) {
      return status.version == version && status.error.code != Code::kOk;
    });
  };
  options.retry = [&store](const std::string& model, int64_t version) { store.Retry(model, version); };
  return options;
}

// Returns the configuration that --model_name and --model_base_path stand for.
ModelServerConfig ConfigOf(const flags::Flags& flags) {
  ModelServerConfig config;
  auto* model = config.mutable_model_config_list()->add_config();
  model->set_name(flags.model_name);
  model->set_base_path(std::filesystem::absolute(flags.model_base_path).string());
  model->set_model_platform("tensorflow");
  if (flags.observe.request_log.prefix.empty()) return config;
  auto* logging = model->mutable_logging_config();
  logging->mutable_log_collector_config()->set_type("file");
  logging->mutable_log_collector_config()->set_filename_prefix(flags.observe.request_log.prefix.string());
  logging->mutable_sampling_config()->set_sampling_rate(flags.observe.request_log.sampling_rate);
  return config;
}

// Returns true if the configuration has no list of models, not even an empty one: the file is empty, or has only blanks
// and comments. TensorFlow Serving ignores it (ServerCore::ReloadConfig, CONFIG_NOT_SET). An editor or a copy may
// truncate the file before writing it, so a poll may read an empty file.
bool NamesNothing(const ModelServerConfig& config) { return config.config_case() == ModelServerConfig::CONFIG_NOT_SET; }

// Returns false if a version newer than all available ones is still loading for the first time.
bool HasLoaded(const std::vector<models::VersionStatus>& statuses) {
  const auto begins = [](const models::VersionStatus& status) {
    return status.error.code == Code::kOk &&
           (status.state == State::kStart || status.state == State::kLoading || status.state == State::kWarming);
  };
  int64_t available = -1;
  for (const auto& status : statuses) {
    if (status.state == State::kAvailable) available = std::max(available, status.version);
  }
  return std::ranges::none_of(statuses,
                              [&](const auto& status) { return begins(status) && status.version > available; });
}

}  // namespace

Standalone::Outcome Standalone::OutcomeOf(const std::string& model) const {
  bool serves = false;
  bool unloads = false;
  // Read before the statuses of the store: a version is in the store before it leaves this list, so none is missed.
  const auto copied = discovery_.waiting();
  const auto statuses = store_.Statuses(model);
  if (statuses.empty() &&
      std::ranges::any_of(copied, [&](const auto& one) { return one.model == model && one.version.has_value(); })) {
    return Outcome::kWaits;
  }
  for (const auto& status : statuses) {
    if (status.state == State::kAvailable) serves = true;
    if (status.state == State::kUnloading) unloads = true;
    if (status.state != State::kAvailable && status.state != State::kFailed && status.state != State::kUnloading &&
        status.state != State::kEnd) {
      return Outcome::kWaits;
    }
  }
  // A version that is loaded again while it is still being unloaded starts only when it is unloaded.
  if (unloads && !serves) return Outcome::kWaits;
  return serves ? Outcome::kServes : Outcome::kCannot;
}

Standalone::Standalone(const flags::Flags& flags, models::ModelStore& store, requestlog::RequestLog& log)
    : flags_(flags),
      store_(store),
      log_(log),
      discovery_(DiscoveryOptions(flags, store),
                 [&store](std::vector<models::Wanted> all) { store.Apply(std::move(all)); }) {}

Standalone::~Standalone() { Leave(); }

void Standalone::Leave() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
}

bool Standalone::leaving() const {
  const std::lock_guard lock(mutex_);
  return leaving_;
}

Status Standalone::Begin() {
  begun_ = std::chrono::steady_clock::now();
  if (flags_.model_config_file.empty()) return Take(ConfigOf(flags_), true);
  RETURN_IF_ERROR(ReadConfigFile(true));
  const auto interval =
      std::chrono::milliseconds(static_cast<int64_t>(flags_.model_config_file_poll_wait_seconds * 1000));
  if (interval.count() > 0) poller_.emplace(interval, [this] { PollConfigFile(); });
  return {};
}

Status Standalone::Take(const ModelServerConfig& config, bool first) {
  if (NamesNothing(config)) return InvalidArgument("the configuration is empty: it needs a model_config_list");
  ASSIGN_OR_RETURN(std::vector<ModelSource> sources, config::ToSources(config));
  ASSIGN_OR_RETURN(const requestlog::Policies policies, requestlog::PoliciesOf(config));
  RETURN_IF_ERROR(CheckLabels(sources, first));
  for (ModelSource& source : sources) {
    source.warm_up = flags_.warm_up.enable_model_warmup;
    source.batching = flags_.batching.options;
  }
  {
    const std::lock_guard lock(mutex_);
    sources_ = std::move(sources);
    set_aside_.clear();
  }
  log_.SetPolicies(policies);
  ApplySources();
  return {};
}

// Passes the models that are not set aside to the discovery.
void Standalone::ApplySources() {
  const std::lock_guard applying(apply_mutex_);
  std::vector<ModelSource> sources;
  {
    const std::lock_guard lock(mutex_);
    names_.clear();
    for (const ModelSource& source : sources_) {
      if (set_aside_.contains(source.name)) continue;
      sources.push_back(source);
      names_.push_back(source.name);
    }
  }
  discovery_.SetSources(std::move(sources));
}

std::vector<std::string> Standalone::ConfiguredModels() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const ModelSource& source : sources_) names.push_back(source.name);
  std::ranges::sort(names);
  return names;
}

Status Standalone::SetAside(const std::string& model, bool aside) {
  {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(sources_, model, &ModelSource::name) == sources_.end()) {
      return NotFound("failed to {} '{}', the configuration of this node has no such model", aside ? "unload" : "load",
                      model);
    }
    const bool changes = aside ? set_aside_.insert(model).second : set_aside_.erase(model) > 0;
    if (!changes) return {};
  }
  ApplySources();
  return {};
}

void Standalone::LoadModel(const std::string& model, TimePoint deadline, ReloadDone done) {
  const auto latest = std::chrono::steady_clock::now() + kReloadWaitMax;
  Wait wait{.only = model, .until = std::min(deadline, latest), .done = std::move(done)};
  Post([this, model] { return SetAside(model, false); },
       [this, wait = std::move(wait)](const Status& changed) { changed ? AddWait(wait) : wait.done(changed); });
}

void Standalone::UnloadModel(const std::string& model, ReloadDone done) {
  Post([this, model] { return SetAside(model, true); }, std::move(done));
}

// A label that clients already use never moves to a version that cannot answer. A new label may point to such a version
// in three cases: at the start, for a new model, or if --allow_version_labels_for_unavailable_models is set.
Status Standalone::CheckLabels(const std::vector<ModelSource>& sources, bool first) const {
  const std::vector<std::string> known = Names();
  for (const ModelSource& source : sources) {
    const bool is_new = first || std::ranges::find(known, source.name) == known.end();
    for (const auto& [label, version] : source.labels) {
      if (is_new || store_.Find(source.name, version)) continue;
      const bool used = store_.FindLabel(source.name, label).has_value();
      if (!used && flags_.allow_version_labels_for_unavailable_models) continue;
      return FailedPrecondition(
          "Request to assign label to version {} of model {}, which is not currently available for inference", version,
          source.name);
    }
  }
  return {};
}

void Standalone::Reload(ModelServerConfig config, TimePoint deadline, ReloadDone done) {
  const auto latest = std::chrono::steady_clock::now() + kReloadWaitMax;
  Wait wait{.only = "", .until = std::min(deadline, latest), .done = std::move(done)};
  Post([this, config = std::move(config)] { return Take(config, false); },
       [this, wait = std::move(wait)](const Status& changed) { changed ? AddWait(wait) : wait.done(changed); });
}

void Standalone::Post(std::function<Status()> change, ReloadDone done) {
  const auto run = [this, change = std::move(change), done] {
    done(leaving() ? longshore::Unavailable(kLeaving) : change());
  };
  if (!reloads_.Post(run)) done(ResourceExhausted("{} reloads are already waiting", kReloadsWaitingMax));
}

std::optional<Status> Standalone::AnswerTo(const Wait& wait) const {
  if (leaving()) return longshore::Unavailable(kLeaving);
  size_t cannot = 0;
  bool waits = false;
  for (const std::string& name : wait.only.empty() ? Names() : std::vector{wait.only}) {
    const Outcome outcome = OutcomeOf(name);
    waits |= outcome == Outcome::kWaits;
    if (outcome == Outcome::kCannot) ++cannot;
  }
  if (!waits && cannot == 0) return Status();
  if (!waits)
    return longshore::Unavailable("{} servable(s) did not become available: {}", cannot, fmt::join(WhyUnable(), "; "));
  if (std::chrono::steady_clock::now() < wait.until) return std::nullopt;
  return DeadlineExceeded("not all models became available in time; the new configuration stays in effect");
}

void Standalone::AddWait(Wait wait) {
  {
    const std::lock_guard lock(mutex_);
    if (!leaving_ && waits_.size() < kReloadsWaitingMax) {
      waits_.push_back(std::move(wait));
      ++changes_;
      return changed_.notify_all();
    }
  }
  wait.done(leaving() ? longshore::Unavailable(kLeaving)
                      : ResourceExhausted("{} reloads are already waiting", kReloadsWaitingMax));
}

void Standalone::AnswerWaits() {
  std::unique_lock lock(mutex_);
  while (true) {
    const bool leaves = leaving_;
    const uint64_t seen = changes_;
    std::vector<Wait> waits = waits_;
    lock.unlock();
    auto next = std::chrono::steady_clock::now() + kReloadWaitMax;
    std::vector<bool> is_answered;
    for (const Wait& wait : waits) {
      const auto answer = AnswerTo(wait);
      is_answered.push_back(answer.has_value());
      if (answer) wait.done(*answer);
      if (!answer) next = std::min(next, wait.until);
    }
    lock.lock();
    // Calls that were added meanwhile are behind these.
    size_t i = 0;
    std::erase_if(waits_, [&](const Wait&) { return i < is_answered.size() && is_answered[i++]; });
    if (leaves) return;
    changed_.wait_until(lock, next, [&] { return leaving_ || changes_ != seen; });
  }
}

void Standalone::OnChange() {
  {
    const std::lock_guard lock(mutex_);
    ++changes_;
  }
  changed_.notify_all();
}

bool Standalone::loads_ended() const {
  const bool waits_for_files = std::chrono::steady_clock::now() - begun_ < kSettleWaitMax;
  // Read before the statuses of the store, as in OutcomeOf.
  if (waits_for_files && std::ranges::any_of(discovery_.waiting(), &models::Waiting::settles)) return false;
  return std::ranges::all_of(Names(), [&](const std::string& name) { return HasLoaded(store_.Statuses(name)); });
}

std::vector<std::string> Standalone::Names() const {
  const std::lock_guard lock(mutex_);
  return names_;
}

std::vector<std::string> Standalone::WhyUnable() const {
  std::vector<std::string> why = Unavailable(store_);
  for (const auto& waiting : discovery_.waiting()) {
    if (waiting.version || store_.Find(waiting.model)) continue;
    why.push_back(fmt::format("model \"{}\": {}", waiting.model, waiting.reason));
  }
  if (!why.empty()) return why;
  for (const std::string& name : Names()) {
    if (!store_.Find(name)) why.push_back(fmt::format("model \"{}\": no version is available yet", name));
  }
  return why;
}

Status Standalone::ReadConfigFile(bool first) {
  auto text = ReadFile(flags_.model_config_file, kTextProtoBytesMax);
  if (!text) return Fail(text.error().code, "--model_config_file: {}", text.error().message);
  if (!first && *text == config_text_) return {};
  config_text_ = std::move(*text);
  ModelServerConfig config;
  RETURN_IF_ERROR(ParseTextProto(config_text_, flags_.model_config_file.string(), &config));
  if (NamesNothing(config)) {
    spdlog::warn("{} is empty: no action is taken; to unload all models, write \"model_config_list {{}}\"",
                 flags_.model_config_file.string());
    return {};
  }
  const Status taken = Take(config, first);
  if (taken) return {};
  return Fail(taken.error().code, "{}: {}", flags_.model_config_file.string(), taken.error().message);
}

void Standalone::PollConfigFile() {
  if (leaving()) return;
  const Status read = ReadConfigFile(false);
  if (!read) spdlog::error("the new model config is not used, the models stay as they are: {}", read.error().message);
}

}  // namespace longshore::app
