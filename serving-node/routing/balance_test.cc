#include "serving-node/routing/balance.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace longshore::routing {
namespace {

// Knows the load of the peers that were watched.
class FakePeers final : public Forwarder {
 public:
  explicit FakePeers(std::map<std::string, int64_t> running) : running_(std::move(running)) {}
  void Forward(ForwardCall, ForwardDone) override {}
  void Watch(const std::vector<std::string>& targets) override { watched_.insert(targets.begin(), targets.end()); }
  std::optional<PeerLoad> LoadOf(const std::string& target) const override {
    if (!watched_.contains(target)) return std::nullopt;
    return PeerLoad{.running = running_.at(target)};
  }

 private:
  const std::map<std::string, int64_t> running_;
  std::set<std::string> watched_;
};

TEST(Balance, AHolderWithMoreLoadThanTheOthersGetsNoRequestsOnceItsLoadIsKnown) {
  const std::vector<std::string> holders = {"busy", "idle", "also idle"};
  FakePeers peers({{"busy", 9}, {"idle", 1}, {"also idle", 1}});
  const batching::Admission admission({.concurrent_runs_max = 1, .simulated_run = {}});
  Balance balance(admission, peers);
  std::map<std::string, int> chosen;
  for (int i = 0; i < 1000; ++i) ++chosen[balance.LessLoaded(holders)];
  EXPECT_EQ(chosen["busy"], 0);
  EXPECT_GT(chosen["idle"], 250);
  EXPECT_GT(chosen["also idle"], 250);
}

}  // namespace
}  // namespace longshore::routing
