// Chooses the requests that are run as pairs (serving-node/evidence/pairs.h), and runs them.
//
// A pair is made of a request that was assigned to stable or to the candidate on a node that holds both, whatever
// became of it. Requests for which the client named the version are left out, and so are all requests after the
// candidate's guard tripped, or while the candidate has no weight, unless the desired state says that it is a shadow.
// Requests that a match rule sends to a shadow are left out, too.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "common/metrics/metrics.h"
#include "serving-node/batching/batching.h"
#include "serving-node/evidence/pairs.h"
#include "serving-node/models/models.h"
#include "serving-node/routing/first_runs.h"
#include "serving-node/routing/request.h"
#include "serving-node/routing/router_deps.h"

namespace longshore::routing {

class Pairing {
 public:
  // How long a run of a pair waits for an idle slot.
  static constexpr std::chrono::seconds kPatience{1};

  // The run that answered the user.
  struct UsersRun {
    std::optional<int> padded_rows;  // nullopt if the run failed.
    std::chrono::nanoseconds took{0};
  };

  // `first_runs` must outlive the pairs: see PairRunner::Clear.
  Pairing(const RouterDeps& deps, FirstRuns& first_runs);

  // Call it once for each request after it was answered. Offers the request as a pair if it is one of the sample.
  void Offer(const Request& request, const UsersRun& run) const;

 private:
  struct Input;
  struct BothVersions {
    models::Handle candidate;
    models::Handle stable;
  };
  evidence::PairTerms TermsOf(const Request& request, const UsersRun& run, const Entry& candidate) const;
  evidence::Pair MakePair(const Request& request, const UsersRun& run, const BothVersions& both) const;
  Result<evidence::PairedRun> RunCandidate(const Input& input, Arm& arm) const;
  void Counted(const evidence::PairOutcome& outcome, const Arm& arm) const;
  // Reports the pair to the controller. It keeps no values.
  void NoteIfDifferent(const evidence::PairOutcome& outcome, const Input& input, const Arm& arm) const;
  void KeepIfDifferent(const evidence::PairOutcome& outcome, const Input& input, const PairPolicy& policy) const;

  const RouterDeps deps_;
  FirstRuns& first_runs_;
  const metrics::Family<metrics::Counter> pairs_;
  const metrics::Family<metrics::Counter> outputs_;
  const metrics::Family<metrics::Counter> dropped_;
};

}  // namespace longshore::routing
