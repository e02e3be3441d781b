#include "controller/reconcile/evidence.h"

#include <gtest/gtest.h>

#include <numeric>

namespace longshore::reconcile {
namespace {

control::Report Report(int64_t requests, int64_t errors = 0) {
  control::Report report;
  control::VersionReport& version = *report.add_versions();
  version.set_served_name("m");
  version.set_version(1);
  version.mutable_evidence()->set_requests(requests);
  version.mutable_evidence()->set_errors(errors);
  version.mutable_evidence()->add_run_time_buckets(requests);
  return report;
}

class EvidenceBookTest : public ::testing::Test {
 protected:
  void Take(const std::string& node, const std::string& incarnation, const control::Report& report) {
    book_.Take("f", node, incarnation, report);
  }
  api::ArmEvidence Window() const { return analysis::Sum(book_.Windows("f", "m", 1, 2)).candidate; }
  int64_t Requests() const { return Window().requests; }

  EvidenceBook book_;
};

TEST_F(EvidenceBookTest, RequestsBeforeTheFirstReportAreNotCounted) {
  Take("a", "i", Report(1000));
  EXPECT_EQ(Requests(), 0);
  Take("a", "i", Report(1007));
  EXPECT_EQ(Requests(), 7);
}

TEST_F(EvidenceBookTest, TheSameReportTwiceAddsNothing) {
  Take("a", "i", Report(0));
  Take("a", "i", Report(5));
  Take("a", "i", Report(5));
  EXPECT_EQ(Requests(), 5);
}

TEST_F(EvidenceBookTest, RestartedNodeCountsFromZeroAndKeepsItsOldCounts) {
  Take("a", "i", Report(0));
  Take("a", "i", Report(5, 1));
  Take("a", "j", Report(3));
  EXPECT_EQ(Requests(), 8);
  EXPECT_EQ(Window().errors, 1);
}

TEST_F(EvidenceBookTest, LaterVersionCountsFromItsFirstRequest) {
  Take("a", "i", control::Report());
  Take("a", "i", Report(4));
  EXPECT_EQ(Requests(), 4);
}

control::Report WithBins(const std::string& salt, const std::vector<int64_t>& requests,
                         const std::vector<int64_t>& bad = {}) {
  control::Report report = Report(std::accumulate(requests.begin(), requests.end(), int64_t{0}));
  control::BinEvidence& bins = *report.mutable_versions(0)->mutable_evidence()->mutable_bins();
  bins.set_salt(salt);
  for (const int64_t count : requests) bins.add_requests(count);
  for (const int64_t count : bad) bins.add_bad(count);
  return report;
}

TEST_F(EvidenceBookTest, CountsBinsPerSaltAndAcrossRestartsOfANode) {
  Take("a", "i", control::Report());
  Take("a", "i", WithBins("one", {5, 3}, {0, 1}));
  const analysis::Windows used = book_.Windows("f", "m", 1, 2);
  book_.Use("f", "m", 1, 2, used);
  Take("a", "i", WithBins("one", {7, 3}, {0, 1}));
  EXPECT_EQ(Window().bins, (api::BinEvidence{"one", {2, 0}, {0, 0}}));
  Take("a", "j", WithBins("one", {1}));
  EXPECT_EQ(Window().bins, (api::BinEvidence{"one", {3, 0}, {0, 0}}));

  Take("a", "j", WithBins("two", {4}));
  EXPECT_EQ(Window().bins, (api::BinEvidence{"two", {4}, {}})) << "another salt starts at zero";
  EXPECT_EQ(book_.Past("f", "m", 1, "two").bins, (api::BinEvidence{"two", {4}, {}}));
  EXPECT_EQ(book_.Past("f", "m", 1, "one").bins, api::BinEvidence{});
}

control::Report WithOutputs(const std::string& rule, int64_t pairs, int64_t differs) {
  control::Report report = Report(0);
  control::PairEvidence& evidence = *report.mutable_versions(0)->mutable_evidence()->mutable_pairs();
  evidence.set_pairs(pairs);
  control::OutputEvidence& output = *evidence.add_outputs();
  output.set_rule(rule);
  output.set_pairs(pairs);
  output.set_differs(differs);
  output.set_noise(1);
  output.set_both(1);
  return report;
}

TEST_F(EvidenceBookTest, CountsOutputsPerRuleAndAcrossRestartsOfANode) {
  using Outputs = std::vector<api::OutputEvidence>;
  Take("a", "i", control::Report());
  Take("a", "i", WithOutputs("o: Top1", 10, 3));
  EXPECT_EQ(Window().pairs.outputs, (Outputs{{"o: Top1", 10, 3, 1, 1}}));
  book_.Use("f", "m", 1, 2, book_.Windows("f", "m", 1, 2));
  Take("a", "i", WithOutputs("o: Top1", 14, 5));
  EXPECT_EQ(Window().pairs.outputs, (Outputs{{"o: Top1", 4, 2, 0, 0}}));
  Take("a", "j", WithOutputs("o: Top1", 2, 1));
  EXPECT_EQ(Window().pairs.outputs, (Outputs{{"o: Top1", 6, 3, 1, 1}}));
  Take("a", "j", WithOutputs("o: Equal", 5, 2));
  EXPECT_EQ(Window().pairs.outputs, (Outputs{{"o: Equal", 5, 2, 1, 1}})) << "another rule starts at zero";
}

TEST_F(EvidenceBookTest, CountsMismatchesAndKeepsTheFirstOne) {
  control::Report report = Report(0);
  control::PairEvidence& pairs = *report.mutable_versions(0)->mutable_evidence()->mutable_pairs();
  Take("a", "i", control::Report());
  pairs.set_pairs(2);
  pairs.set_mismatched(1);
  pairs.set_mismatch("output o is missing" + std::string(10'000, '!'));
  Take("a", "i", report);
  Take("b", "i", control::Report());
  pairs.set_mismatch("output p is missing");
  Take("b", "i", report);
  EXPECT_EQ(Window().pairs.mismatched, 2);
  EXPECT_TRUE(Window().pairs.mismatch.starts_with("output o is missing"));
  EXPECT_LE(Window().pairs.mismatch.size(), 1024u);
}

control::Report WithDrops(const api::PairDrops& drops) {
  control::Report report = Report(1);
  control::PairEvidence& pairs = *report.mutable_versions(0)->mutable_evidence()->mutable_pairs();
  pairs.set_dropped_busy(drops.busy);
  pairs.set_dropped_budget(drops.budget);
  pairs.set_dropped_queue(drops.queue);
  return report;
}

TEST_F(EvidenceBookTest, CountsDroppedPairsByReasonAndAcrossRestartsOfANode) {
  Take("a", "i", control::Report());
  Take("a", "i", WithDrops({5, 3, 1}));
  EXPECT_EQ(Window().pairs.dropped, (api::PairDrops{5, 3, 1}));
  Take("a", "i", WithDrops({6, 3, 3}));
  Take("a", "j", WithDrops({1, 0, 0}));
  EXPECT_EQ(Window().pairs.dropped, (api::PairDrops{7, 3, 3}));
}

TEST_F(EvidenceBookTest, SumsTheBinsOfTheSaltOverTheNodes) {
  for (const char* node : {"a", "b", "c"}) Take(node, "i", control::Report());
  Take("a", "i", WithBins("two", {1}));
  Take("b", "i", WithBins("one", {9}));  // It has not received the new state yet.
  Take("c", "i", WithBins("two", {2, 1}));
  EXPECT_EQ(book_.Past("f", "m", 1, "two").bins, (api::BinEvidence{"two", {3, 1}, {}}));
}

TEST_F(EvidenceBookTest, EachRequestIsInOneWindow) {
  Take("a", "i", Report(0));
  Take("a", "i", Report(5));
  const analysis::Windows used = book_.Windows("f", "m", 1, 2);
  Take("a", "i", Report(7));
  book_.Use("f", "m", 1, 2, used);
  EXPECT_EQ(Requests(), 2) << "requests after the window was read are in the next one";
  EXPECT_EQ(Window().run_times.at(0), std::vector<int64_t>{2});
  EXPECT_EQ(book_.Past("f", "m", 1, "").requests, 7);
  book_.EmptyWindows("f", "m");
  EXPECT_EQ(Requests(), 0);
}

TEST_F(EvidenceBookTest, TenThousandNodesComeAndGoAndOnlyTheirCountsAreKept) {
  constexpr int kNodes = 10000;
  Take("stays", "i", Report(0));
  for (int i = 0; i < kNodes; ++i) {
    const std::string node = fmt::format("n{}", i);
    Take(node, "i", control::Report());
    Take(node, "i", Report(1));
    book_.ForgetNode("f", node);
    EXPECT_EQ(Requests(), 1) << "its request still counts";
    book_.EmptyWindows("f", "m");
  }
  EXPECT_EQ(book_.Past("f", "m", 1, "").requests, kNodes);
  EXPECT_EQ(Requests(), 0);
  EXPECT_LE(book_.size(), 3U);
}

TEST_F(EvidenceBookTest, VersionThatNoReportContainsIsRemoved) {
  Take("a", "i", Report(0));
  Take("b", "i", Report(0));
  Take("a", "i", Report(5));
  Take("b", "i", Report(3));
  Take("a", "i", control::Report());
  EXPECT_EQ(book_.Past("f", "m", 1, "").requests, 8);
  Take("b", "i", control::Report());
  EXPECT_EQ(book_.Past("f", "m", 1, "").requests, 0);
  EXPECT_EQ(book_.size(), 2U);
}

TEST_F(EvidenceBookTest, EachNodeHasItsOwnWindow) {
  for (const char* node : {"a", "b", "idle"}) Take(node, "i", Report(0));
  Take("a", "i", Report(5));
  Take("b", "i", Report(3));
  const analysis::Windows windows = book_.Windows("f", "m", 1, 2);
  EXPECT_EQ(windows.size(), 2);
  EXPECT_EQ(windows.at("a").candidate.requests, 5);
  EXPECT_EQ(windows.at("b").candidate.requests, 3);
  EXPECT_EQ(book_.Past("f", "m", 1, "").requests, 8);
}

}  // namespace
}  // namespace longshore::reconcile
