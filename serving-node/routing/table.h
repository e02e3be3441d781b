// What the controller's state means for requests, ready to be looked up: one immutable table per state.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "longshore/control.pb.h"
#include "serving-node/evidence/recorder.h"
#include "serving-node/routing/assignment.h"
#include "serving-node/routing/guard.h"
#include "serving-node/routing/peers.h"
#include "serving-node/routing/predict.h"

namespace longshore::routing {

// Of the note that the journal has before the first run of an arm begins.
enum class FirstRun { kUnnoted, kBeingNoted, kNoted };

// One rollout of one version on this node; lives as long as states name it.
struct Arm {
  std::shared_ptr<GuardState> guard;
  std::shared_ptr<evidence::Counters> counters;
  ErrorWindow errors;
  std::atomic<uint64_t> answered{0};
  std::atomic<FirstRun> first_run{FirstRun::kUnnoted};
};

struct Entry {
  int64_t version = 0;
  int32_t weight_bp = 0;
  control::Role role = control::ROLE_UNSPECIFIED;
  control::Guard guard;
  std::shared_ptr<Arm> arm;
  std::vector<std::string> peers;  // Addresses of the others that hold it ready.

  bool tripped() const { return role != control::STABLE && arm->guard->tripped(); }
  // Whether a run would have to wait for the disk.
  bool being_noted() const { return arm->first_run.load(std::memory_order_acquire) == FirstRun::kBeingNoted; }
  // What requests without a version see of it.
  int32_t applied_weight() const { return tripped() ? 0 : weight_bp; }
};

struct ModelRoutes {
  std::string name;
  std::vector<Entry> entries;  // In the order of their bucket ranges: stable last.
  std::map<std::string, int64_t> labels;
  control::Assignment assignment;  // The key is in lower case when it names a header.
  std::chrono::milliseconds slo{0};
  double drift_sample = 0.05;
  std::shared_ptr<std::atomic<uint64_t>> sequence;  // Of the requests without a key; goes on from table to table.

  const Entry* Find(int64_t version) const;
  const Entry* stable() const;
  // The version that this node would give to the call; the next of the sequence when it carries no key.
  const Entry* Assign(const PredictCall& call) const;
  int32_t AppliedWeight(int64_t version) const;
};

struct Choice {
  int64_t version = 0;
  const Entry* entry = nullptr;  // Null for a version that the client named and the state does not.
  bool pinned = false;           // The client named the version or its label.
};

class Table {
 public:
  // What goes on from table to table. Belongs to the one who builds them, one at a time.
  struct Carried {
    std::map<GuardKey, std::shared_ptr<Arm>> arms;
    std::map<std::string, std::shared_ptr<std::atomic<uint64_t>>> sequences;
  };
  static std::shared_ptr<const Table> Build(const control::DesiredState& state, const std::string& node,
                                            GuardBook& guards, evidence::Recorder& recorder, Carried* carried);

  const std::string& fleet() const { return fleet_; }
  const Peers& peers() const { return peers_; }
  const std::map<std::string, ModelRoutes>& models() const { return models_; }
  const ModelRoutes* Find(const std::string& model) const;

 private:
  std::string fleet_;
  Peers peers_;
  std::map<std::string, ModelRoutes> models_;
};

// NotFound and InvalidArgument with TensorFlow Serving's texts; Unavailable when no version may be served yet.
Result<Choice> Choose(const ModelRoutes& model, const PredictCall& call);

}  // namespace longshore::routing
