// Runs a request on this node, and learns from it: evidence, the candidate's guard, the sample for drift.
#pragma once

#include <memory>
#include <string>

#include "serving-node/models/models.h"
#include "serving-node/routing/router.h"
#include "serving-node/routing/table.h"

namespace longshore::routing {

// One request on its way. Belongs to whichever thread works on it at the moment.
struct Request {
  PredictCall call;
  PredictDone done;
  std::shared_ptr<const Table> table;   // Null when the node is alone.
  const ModelRoutes* model = nullptr;   // In the table.
  Choice choice;
  bool died_once = false;               // A peer's connection broke while it had the request.
  std::vector<std::string> tried;       // Peers.

  const std::string& model_name() const { return call.request.model_spec().name(); }
};
using RequestPtr = std::shared_ptr<Request>;

class Execution {
 public:
  explicit Execution(const RouterDeps& deps);

  // Runs the request's choice, which `ready` holds, and answers it. For a candidate with a guard the answer waits until
  // a non-finite output was compared with stable's.
  void Run(const RequestPtr& request, const models::Handle& ready) const;

 private:
  struct Finished;
  void Finish(const std::shared_ptr<Finished>& run) const;
  void Answer(const std::shared_ptr<Finished>& run) const;
  void Measure(const Finished& run) const;
  void CheckErrors(const Finished& run) const;
  void PairWithStable(const std::shared_ptr<Finished>& run, const Entry& stable) const;
  void PairAtPeer(const std::shared_ptr<Finished>& run, const Entry& stable) const;
  void Judge(const std::shared_ptr<Finished>& run, bool stable_is_finite) const;
  void OfferForDrift(const Finished& run) const;
  void NoteFirstRun(Finished& run) const;
  std::shared_ptr<evidence::Counters> CountersOf(const Request& request) const;

  const RouterDeps deps_;
  const metrics::Family<metrics::Histogram> queue_seconds_;
  const metrics::Family<metrics::Histogram> run_seconds_;
  const metrics::Family<metrics::Counter> nonfinite_;
};

// What travels with a request to a peer that is to run exactly this version.
ForwardCall HopCall(const Request& request, int64_t version, const std::string& target);

}  // namespace longshore::routing
