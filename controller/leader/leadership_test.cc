// Runs against a real API server: tests/cluster/control_plane.py starts it and provides its kubeconfig.
#include "controller/leader/leadership.h"

#include <gtest/gtest.h>

#include <cctype>
#include <future>

#include "controller/kube/testing.h"

namespace longshore::leader {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const SteadyClock kClock;

class LeadershipTest : public ::testing::Test {
 protected:
  std::unique_ptr<Leadership> StartCandidate(const std::string& identity, int64_t floor = 0) {
    const Options options{.identity = identity,
                          .lease_duration = seconds(2),
                          .renew_deadline = milliseconds(1200),
                          .retry_period = milliseconds(100),
                          .annotations = {{"of", identity}}};
    return Leadership::Start(kube::ClusterForTests(), lease_, options, kClock, [floor] { return floor; }).value();
  }
  Result<Lease> Read() {
    const auto answer = api_->Send({.target = path_});
    if (!answer) return tl::make_unexpected(answer.error());
    return FromJson(ParseJson(*answer).value());
  }
  void Delete() { ASSERT_TRUE(api_->Send({.method = "DELETE", .target = path_})); }

  // The API server requires names in lower case.
  static std::string NameOfTest() {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    return name;
  }

  const LeaseName lease_{"default", NameOfTest()};
  const std::string path_ = "/apis/coordination.k8s.io/v1/namespaces/default/leases/" + lease_.name;
  std::unique_ptr<kube::Api> api_ = kube::ConnectForTests(kClock);
};

TEST_F(LeadershipTest, ReleasesTheLeaseWhenItStops) {
  auto first = StartCandidate("first", 41);
  const int64_t epoch = first->AwaitTerm();
  EXPECT_EQ(epoch, 42);
  EXPECT_TRUE(first->IsLeading(epoch));
  EXPECT_EQ(Read()->holder, "first");
  const auto second = StartCandidate("second");
  auto next = std::async(std::launch::async, [&] { return second->AwaitTerm(); });
  EXPECT_EQ(next.wait_for(milliseconds(2500)), std::future_status::timeout) << "the first still renews the Lease";
  EXPECT_EQ(second->holder(), "first");
  const auto left_at = std::chrono::steady_clock::now();
  first.reset();
  EXPECT_EQ(next.get(), 43);
  EXPECT_LT(std::chrono::steady_clock::now() - left_at, seconds(1))
      << "the Lease was released, so the second need not wait";
}

TEST_F(LeadershipTest, ContinuesItsTermWhenItsLeaseIsDeleted) {
  const auto only = StartCandidate("only");
  const int64_t epoch = only->AwaitTerm();
  Delete();
  while (!Read()) {
  }
  EXPECT_EQ(Read()->holder, "only");
  EXPECT_EQ(Read()->transitions, epoch);
  EXPECT_TRUE(only->IsLeading(epoch));
}

TEST_F(LeadershipTest, KeepsLabelsOfOtherClientsOnTheLeaseWithoutEndingTheTerm) {
  const auto only = StartCandidate("only");
  const int64_t epoch = only->AwaitTerm();
  const Json patch = {{"metadata", {{"labels", {{"of", "chart"}}}, {"annotations", {{"other", "x"}, {"of", "y"}}}}}};
  ASSERT_TRUE(
      api_->Send({.method = "PATCH", .target = path_, .body = patch.dump(), .content_type = kube::kMergePatch}));
  const std::string seen = Read()->version;
  while (Read()->version == seen) {
  }
  const Json lease = ParseJson(api_->Send({.target = path_}).value()).value();
  EXPECT_EQ(lease.at("metadata").at("labels").at("of"), "chart");
  EXPECT_EQ(lease.at("metadata").at("annotations").at("other"), "x");
  EXPECT_EQ(lease.at("metadata").at("annotations").at("of"), "only");
  EXPECT_TRUE(only->IsLeading(epoch));
}

TEST_F(LeadershipTest, TheTermEndsWhenAnotherHolderWritesTheLease) {
  const auto only = StartCandidate("only");
  const int64_t epoch = only->AwaitTerm();
  for (;;) {
    Lease taken = Read().value();
    taken.holder = "another";
    taken.transitions += 7;
    if (api_->Send({.method = "PUT", .target = path_, .body = ToJson(lease_, taken, TimePoint{}).dump()})) break;
  }
  only->AwaitEnd(epoch);
  EXPECT_FALSE(only->IsLeading(epoch));
  EXPECT_GT(only->AwaitTerm(), epoch + 7) << "the other holder does not renew the Lease";
}

TEST_F(LeadershipTest, StopEndsAllWaits) {
  const auto holder = StartCandidate("holder");
  const int64_t epoch = holder->AwaitTerm();
  const auto standby = StartCandidate("standby");
  auto term = std::async(std::launch::async, [&] { return standby->AwaitTerm(); });
  auto end = std::async(std::launch::async, [&] { holder->AwaitEnd(epoch); });
  standby->Stop();
  holder->Stop();
  EXPECT_EQ(term.get(), 0);
  end.get();
}

}  // namespace
}  // namespace longshore::leader
