// A standalone node, which has no controller: the models that it serves, from flags or from a model config file, and
// changes to them at run time. A change is applied as a whole or not at all.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/base/error.h"
#include "common/os/ticker.h"
#include "common/os/worker.h"
#include "serving-node/app/flags/flags.h"
#include "serving-node/models/discovery.h"
#include "serving-node/models/model_store.h"
#include "serving-node/observe/requestlog/request_log.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::app {

// Thread-safe, except for Begin. The store, the log and the flags must outlive this object.
class Standalone {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using ReloadDone = std::function<void(Status)>;
  static constexpr size_t kReloadsWaitingMax = 16;
  // The deadline of a reload whose caller sets none.
  static constexpr std::chrono::minutes kReloadWaitMax{30};
  static constexpr std::chrono::seconds kSettleWaitMax{10};

  Standalone(const flags::Flags& flags, models::ModelStore& store, requestlog::RequestLog& log);
  ~Standalone();  // Answers the reloads that still wait.

  // Starts to serve the models of the flags. An error is InvalidArgument and names the file, the line or the model that
  // is wrong. An empty config file, now or later, changes nothing and is logged.
  Status Begin();

  // Implements HandleReloadConfigRequest. Calls `done` once: at once with ResourceExhausted if too many reloads wait,
  // otherwise later on another thread. If the configuration is wrong or empty, nothing changes, and the result is
  // InvalidArgument or FailedPrecondition. The result is Unavailable if a model of the configuration cannot be served,
  // and DeadlineExceeded if the models did not load in time; in both cases the new configuration stays in effect.
  void Reload(tensorflow::serving::ModelServerConfig config, TimePoint deadline, ReloadDone done);

  // The models of the configuration, sorted by name, including those that are set aside.
  std::vector<std::string> ConfiguredModels() const;

  // Loads a model that is set aside, and calls `done` when one of its versions is available; at once if the model is
  // available. NotFound if the configuration has no such model; further errors as in Reload.
  void LoadModel(const std::string& model, TimePoint deadline, ReloadDone done);

  // Sets a model aside: unloads it until LoadModel or a changed configuration loads it again. Calls `done` when the
  // unloading has begun. NotFound if the configuration has no such model; further errors as in Reload.
  void UnloadModel(const std::string& model, ReloadDone done);

  // Answers all waiting and future reloads with Unavailable, because their connections would otherwise keep the node
  // from shutting down. Does not change the models.
  void Leave();

  // Must be called whenever a version changes its state.
  void OnChange();

  // Returns true if no model is still loading for the first time: its newest version answers, or all of its versions
  // failed to load, or it has none. Versions that have all their files but may still be changing are waited for, too,
  // for at most kSettleWaitMax after Begin.
  bool loads_ended() const;

  // Returns one reason for each model that cannot answer; empty if all can.
  std::vector<std::string> WhyUnable() const;

 private:
  enum class Outcome { kWaits, kServes, kCannot };

  // Returns whether the model can answer (kServes), cannot (kCannot), or is still loading (kWaits).
  Outcome OutcomeOf(const std::string& model) const;
  Status Take(const tensorflow::serving::ModelServerConfig& config, bool first);
  Status CheckLabels(const std::vector<models::ModelSource>& sources, bool first) const;
  // A call that is answered when its models can answer or cannot: all models, or only one.
  struct Wait {
    std::string only;  // "": all.
    TimePoint until;
    ReloadDone done;
  };
  // Returns the answer to a waiting call; nullopt if it must wait longer.
  std::optional<Status> AnswerTo(const Wait& wait) const;
  // Adds a call that waits. It is answered by the thread of waiter_, so calls do not wait for one another.
  void AddWait(Wait wait);
  void AnswerWaits();
  // Runs a change of the models on the thread of reloads_, and then `done` with its result.
  void Post(std::function<Status()> change, ReloadDone done);
  Status SetAside(const std::string& model, bool aside);
  void ApplySources();
  bool leaving() const;
  std::vector<std::string> Names() const;
  Status ReadConfigFile(bool first);
  void PollConfigFile();

  const flags::Flags& flags_;
  TimePoint begun_{};  // Set by Begin.
  models::ModelStore& store_;
  requestlog::RequestLog& log_;
  models::Discovery discovery_;
  std::mutex apply_mutex_;    // Held while sources_ are applied, so that the last change wins.
  mutable std::mutex mutex_;  // Guards the members below, up to set_aside_.
  std::condition_variable changed_;
  bool leaving_ = false;
  uint64_t changes_ = 0;
  std::vector<std::string> names_;            // The configured models, without those that are set aside.
  std::vector<models::ModelSource> sources_;  // The configured models.
  std::set<std::string> set_aside_;           // Models that are unloaded although they are configured.
  std::string config_text_;                   // The last content of the config file. After Begin, only poller_ uses it.
  std::vector<Wait> waits_;                   // Guarded by mutex_. At most kReloadsWaitingMax.
  // Declared last: their threads use the other members.
  Worker reloads_{kReloadsWaitingMax};
  std::jthread waiter_{[this] { AnswerWaits(); }};
  std::optional<Ticker> poller_;
};

}  // namespace longshore::app
