// Asks the home nodes of a model that this node does not know, one after the other, until one of them knows it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/metrics/metrics.h"
#include "serving-node/routing/forwarder.h"

namespace longshore::routing {

struct HomeQuestion {
  std::string model;
  std::string fleet;               // The fleet of this node.
  std::vector<std::string> homes;  // Addresses of the home nodes, without this node.
};

// Thread-safe. The HomeSearch and the forwarder must outlive all questions.
class HomeSearch {
 public:
  static constexpr size_t kNamesMax = 1000;

  HomeSearch(Forwarder& forwarder, metrics::Registry& metrics);

  // Sets `call.target`, forwards the call to a home node and passes its reply to `done`. Asks another
  // home if the asked one does not know the model and, at most once per question, if the connection to it broke.
  // Errors, in addition to those of a home that knows the model: kHopUnknown if all homes replied that they do not know
  // the model, or if the question names no home; Unavailable if a home that may know the model could not be asked.
  // Calls `done` exactly once, on any thread, possibly before Ask returns.
  void Ask(HomeQuestion question, ForwardCall call, ForwardDone done);

  // Returns true if a home node knew the model when it was last asked: the name is then not a client's mistake. Returns
  // false otherwise, and for a name that was dropped because too many names were stored (kNamesMax).
  bool KnownElsewhere(const std::string& model) const;

 private:
  struct Search;
  static metrics::Counter Counter(metrics::Registry& metrics, const std::string& outcome);
  void AskNext(const std::shared_ptr<Search>& search);
  void Answered(const std::shared_ptr<Search>& search, Result<Pieces> reply);
  void Remember(const std::string& model, bool known);

  Forwarder& forwarder_;
  metrics::Counter known_;
  metrics::Counter unknown_;
  metrics::Counter unanswered_;
  std::atomic<uint64_t> asked_{0};
  mutable std::mutex mutex_;     // Guards names_.
  std::set<std::string> names_;  // Models that a home knew. Cleared when it would exceed kNamesMax.
};

}  // namespace longshore::routing
