// The other parts of the node that a Router uses.
#pragma once

#include <functional>
#include <string_view>

#include "common/base/budget.h"
#include "common/base/clock.h"
#include "common/metrics/metrics.h"
#include "common/net/auth/caller.h"
#include "serving-node/evidence/recorder.h"
#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/guard.h"

namespace longshore::batching {
class Admission;
}
namespace longshore::evidence {
class PairRunner;
}
namespace longshore::models {
class ModelStore;
}
namespace longshore::rehearsal {
class Journal;
}

namespace longshore::routing {

class FailureSink;
class OriginSearch;
class RunMeter;
class RunStatistics;

// How the node finds out which client sent a request.
struct Identities {
  // Returns the identity of the client that sent this value of the header "authorization", which the listener has
  // admitted; an error if it is not valid any more. If empty, clients have no identity.
  std::function<Result<auth::Caller>(std::string_view authorization)> identify = {};
  bool clients = false;  // Whether it finds names of clients.
  bool claims = false;   // Whether it verifies JSON Web Tokens.
};

struct RouterDeps {
  models::ModelStore& store;
  batching::Admission& admission;
  evidence::Recorder& recorder;
  evidence::PairRunner& pairs;
  metrics::Registry& metrics;
  RunMeter& runs;
  RunStatistics& statistics;
  Forwarder& forwarder;
  GuardBook& guards;
  OriginSearch& origins;
  const Clock& clock;
  rehearsal::Journal* journal = nullptr;  // Records a candidate's first run for a request. Null on a standalone node.
  FailureSink* failures = nullptr;        // Stores requests that failed. If null, they are not stored.
  Budget budget = {};                     // The limits of one request.
  Identities identities = {};
};

}  // namespace longshore::routing
