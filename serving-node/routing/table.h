// The routing table: the controller's desired state, prepared for looking up the version of a request. Each desired
// state gives one immutable table.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "longshore/control.pb.h"
#include "serving-node/evidence/agreement.h"
#include "serving-node/evidence/recorder.h"
#include "serving-node/routing/assignment.h"
#include "serving-node/routing/guard.h"
#include "serving-node/routing/matching.h"
#include "serving-node/routing/peers.h"
#include "serving-node/routing/predict.h"
#include "serving-node/routing/relative_errors.h"

namespace longshore::routing {

// Progress of the journal entry that must be on disk before the first run of a candidate begins.
enum class FirstRun { kUnnoted, kBeingNoted, kNoted };

// What this node remembers about one version within one rollout. It is shared by successive tables and freed when the
// desired state no longer names the version.
struct Arm {
  std::shared_ptr<GuardState> guard;
  std::shared_ptr<evidence::Counters> counters;
  ErrorWindow errors;                // Of a candidate, without the requests that a match rule sent to it.
  ErrorWindow matched_errors;        // Of a candidate, of the requests that a match rule sent to it.
  RelativeErrors relative_errors;    // Of a candidate, with the requests of stable.
  std::atomic<uint64_t> sampled{0};  // Requests of both versions that could have been pairs of this candidate.
  std::atomic<FirstRun> first_run{FirstRun::kUnnoted};
};

struct Entry {
  int64_t version = 0;
  int32_t weight_bp = 0;
  control::Role role = control::ROLE_UNSPECIFIED;
  control::Guard guard;
  std::shared_ptr<Arm> arm;
  std::vector<std::string> peers;  // Addresses of the other nodes that have this version ready.
  // Counts the requests that have a key; null unless requests are assigned by keys and there is a candidate.
  std::shared_ptr<evidence::Bins> bins;
  bool shadow = false;  // Of a candidate: requests become pairs although its weight is 0.

  bool tripped() const { return role != control::STABLE && arm->guard->tripped(); }
  // True while the journal entry of the first run is being written. A run that is submitted now waits for the disk.
  bool being_noted() const { return arm->first_run.load(std::memory_order_acquire) == FirstRun::kBeingNoted; }
  // The weight for requests that name no version, in hundredths of a percent: 0 after the guard tripped.
  int32_t applied_weight() const { return tripped() ? 0 : weight_bp; }
  // True if requests of stable may become pairs of this candidate.
  bool paired() const { return !tripped() && (weight_bp > 0 || shadow); }
};

// Which requests are run as pairs (pairing.h), as shares.
struct PairPolicy {
  double share = 0.25;
  double budget = 0.10;          // Of the node's slot time.
  bool only_candidates = false;  // Only requests that were assigned to the candidate.
  std::shared_ptr<const evidence::OutputRules> rules;
  size_t keep_worst = 0;  // How many pairs with different outputs are kept for each candidate, if the node keeps any.
};

struct ModelRoutes {
  std::string name;
  std::vector<Entry> entries;  // In the order of their bucket ranges: candidates first, stable last.
  std::map<std::string, int64_t> labels;
  control::Assignment assignment;  // The key is in lower case when it names a header.
  std::chrono::milliseconds slo{0};
  PairPolicy pairs;
  std::shared_ptr<const Rules> rules;               // Match rules. Shared by successive tables; never null.
  std::shared_ptr<evidence::TimeHistogram> times;   // Times from arrival to answer; null without a latency objective.
  std::shared_ptr<std::atomic<uint64_t>> sequence;  // Counts requests without a key. Shared by successive tables.

  const Entry* Find(int64_t version) const;
  const Entry* stable() const;
  const Entry* candidate() const;  // The first one; null if there is none.
  // Returns the entry of the version that owns the bucket; nullptr if no version has a weight.
  const Entry* Assign(uint32_t bucket) const;
  // The weight that this node applies to requests that name no version, without match rules. If it could not compile
  // the rules, stable has all of it.
  int32_t AppliedWeight(int64_t version) const;
};

struct Choice {
  int64_t version = 0;
  const Entry* entry = nullptr;  // Null if the client named a version that the desired state does not contain.
  bool pinned = false;           // The client named the version or its label.
  int bin = -1;                  // The bin of the request's key; -1 if it has none.
  // A match rule chose the version, so the request is no evidence for tests on requests.
  bool matched = false;
  bool to_candidate = false;  // That rule chose the candidate. Stays true if the request falls back to stable.

  // Chooses another version, without changing why the request was chosen.
  void MoveTo(const Entry& other) {
    version = other.version;
    entry = &other;
  }
};

// The rules of a model with the text from which they were compiled, so that they are compiled only if they change.
struct CompiledRules {
  std::string source;
  std::shared_ptr<const Rules> rules;
};

class RoutingTable {
 public:
  // Objects that the next table reuses. The caller of Build owns them and builds one table at a time.
  struct Reused {
    std::map<GuardKey, std::shared_ptr<Arm>> arms;
    std::map<std::string, std::shared_ptr<std::atomic<uint64_t>>> sequences;
    std::map<std::string, CompiledRules> rules;
  };
  static std::shared_ptr<const RoutingTable> Build(const control::DesiredState& state, const std::string& node,
                                                   GuardBook& guards, evidence::Recorder& recorder, Reused* reused);

  const std::string& fleet() const { return fleet_; }
  const Peers& peers() const { return peers_; }
  const std::map<std::string, ModelRoutes>& models() const { return models_; }
  const ModelRoutes* Find(const std::string& model) const;

 private:
  std::string fleet_;
  Peers peers_;
  std::map<std::string, ModelRoutes> models_;
};

// Chooses the version of a call. A call that names neither a version nor a label gets the version of the first match
// rule that matches and whose version exists and has no tripped guard; if there is none, the assignment decides.
// Errors: InvalidArgument with TensorFlow Serving's text for an unknown label; Unavailable if no version of the model
// may be served yet.
//
// Requires: the call has its `caller` if the model's rules need it.
Result<Choice> Choose(const ModelRoutes& model, const PredictCall& call);

}  // namespace longshore::routing
