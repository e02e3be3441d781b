// Asks the homes of a model that this node knows nothing of, one after the other, until one knows it.
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
  std::string fleet;               // Of this node.
  std::vector<std::string> homes;  // Addresses, without this node's.
};

// Thread-safe. Outlives its questions, as the forwarder does.
class HomeSearch {
 public:
  static constexpr size_t kNamesMax = 1000;

  HomeSearch(Forwarder& forwarder, metrics::Registry& metrics);

  // Hands the call, of which the target is not set, to a home and back what it says. The next is asked where one does
  // not know the model; also where a connection died, once. Errors beside those of a home that knows the model:
  // kHopUnknown when every home said that it knows no such model, or there is none; Unavailable when one could not say
  // so. Calls done exactly once, on any thread, possibly before it returns.
  void Ask(HomeQuestion question, ForwardCall call, ForwardDone done);

  // Whether a home knew the model when it was asked last: a name that no client made up. False may also say that it is
  // long ago.
  bool KnownElsewhere(const std::string& model) const;

 private:
  struct Search;
  static metrics::Counter Counter(metrics::Registry& metrics, const std::string& outcome);
  void AskNext(const std::shared_ptr<Search>& search);
  void Answered(const std::shared_ptr<Search>& search, Result<std::string> reply);
  void Remember(const std::string& model, bool known);

  Forwarder& forwarder_;
  metrics::Counter known_;
  metrics::Counter unknown_;
  metrics::Counter unanswered_;
  std::atomic<uint64_t> asked_{0};
  mutable std::mutex mutex_;     // Guards names_.
  std::set<std::string> names_;  // Of models that a home knew; all are forgotten when they are too many.
};

}  // namespace longshore::routing
