// A node without a controller: which models it serves, from flags or a model config file, and how that changes while it
// runs. A change is taken as a whole or not at all.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/ticker.h"
#include "common/worker.h"
#include "serving-node/app/flags.h"
#include "serving-node/models/discovery.h"
#include "serving-node/models/model_store.h"
#include "serving-node/requestlog/request_log.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::app {

// Thread-safe but for Begin. The store, the log and the flags outlive it.
class Alone {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using ReloadDone = std::function<void(Status)>;
  static constexpr size_t kReloadsWaitingMax = 16;
  // Of a reload whose caller has no deadline: a model may load for long, and nobody waits forever.
  static constexpr std::chrono::minutes kReloadWaitMax{30};

  Alone(const Flags& flags, models::ModelStore& store, requestlog::RequestLog& log);
  ~Alone();  // Reloads that still wait are answered.

  // Serves what the flags say. InvalidArgument naming the file, the line or the model that is wrong.
  Status Begin();

  // As HandleReloadConfigRequest: InvalidArgument or FailedPrecondition for what is wrong, and nothing changes;
  // Unavailable when a model that it names cannot be served, DeadlineExceeded when that is not known in time: the new
  // configuration stays. Calls done once, on another thread; ResourceExhausted when too many reloads wait.
  void Reload(tensorflow::serving::ModelServerConfig config, TimePoint deadline, ReloadDone done);

  // Reloads that wait, and those that come from now on, are answered with Unavailable at once and change nothing: their
  // connections would keep the node from leaving.
  void Leave();

  // A version changed its state.
  void OnChange();

  // Whether no model is on its way any more: each answers, or has failed to load, or has nothing to load yet.
  bool tried() const;

  // Why some model cannot answer; empty: all can.
  std::vector<std::string> WhyUnable() const;

 private:
  enum class Outcome { kWaits, kServes, kCannot };

  // Whether it is known that the model can answer.
  Outcome OutcomeOf(const std::string& model) const;
  Status Take(const tensorflow::serving::ModelServerConfig& config, bool first);
  Status CheckLabels(const std::vector<models::Source>& sources, bool first) const;
  Status WaitUntilSettled(TimePoint deadline);
  bool leaving() const;
  std::vector<std::string> Names() const;
  Status ReadConfigFile(bool first);
  void PollConfigFile();

  const Flags& flags_;
  models::ModelStore& store_;
  requestlog::RequestLog& log_;
  models::Discovery discovery_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  bool leaving_ = false;
  uint64_t changes_ = 0;
  std::vector<std::string> names_;  // Of the models that are configured.
  std::string config_text_;         // What the config file said last; only the poller's after Begin.
  // Last: they use the rest.
  Worker reloads_{kReloadsWaitingMax};
  std::optional<Ticker> poller_;
};

}  // namespace longshore::app
