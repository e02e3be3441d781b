#include "controller/console/worst_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "common/node_contract/worst_pairs.h"

namespace longshore::console {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kRollout = "uid/4/1";

api::Model Shadowed() {
  api::Model model;
  model.spec.served_name = "digits";
  model.status.rollout.id = kRollout;
  model.status.rollout.candidate = 4;
  return model;
}

NodePair Pair(const std::string& node, double difference, int64_t at_unix_ms = 1) {
  NodePair pair{.node = node};
  pair.pair.set_relative_difference(difference);
  pair.pair.set_at_unix_ms(at_unix_ms);
  return pair;
}

// A node that reports pairs with these differences.
nodes::ViewPtr Node(const std::vector<double>& differences, const std::string& salt = kRollout, int64_t version = 4) {
  auto report = std::make_shared<control::Report>();
  control::VersionReport& of_version = *report->add_versions();
  of_version.set_served_name("digits");
  of_version.set_version(version);
  control::PairEvidence& evidence = *of_version.mutable_evidence()->mutable_pairs();
  evidence.set_worst_salt(salt);
  for (const double difference : differences) *evidence.add_worst() = Pair("", difference).pair;
  auto view = std::make_shared<nodes::NodeView>();
  view->hello.set_node("a");
  view->report = report;
  return view;
}

std::vector<std::string> Texts(const std::vector<NodePair>& pairs) {
  std::vector<std::string> texts;
  for (const NodePair& one : pairs) texts.push_back(fmt::format("{} {}", one.node, one.pair.relative_difference()));
  return texts;
}

std::vector<NodePair> Reported(const std::vector<nodes::ViewPtr>& nodes) {
  return ReportedPairs(Shadowed(), PairReportsOf(nodes));
}

TEST(ConsoleWorstPairs, AreThoseThatNodesReportOfTheNewestRollout) {
  EXPECT_THAT(Texts(Reported({Node({0.5, 0.25})})), ElementsAre("a 0.5", "a 0.25"));
  EXPECT_THAT(Reported({Node({0.5}, "uid/4/2")}), IsEmpty()) << "another attempt";
  EXPECT_THAT(Reported({Node({0.5}, kRollout, 3)}), IsEmpty()) << "another version";
  EXPECT_THAT(Reported({std::make_shared<nodes::NodeView>()}), IsEmpty()) << "no report yet";
}

TEST(ConsoleWorstPairs, ReportsOfABrokenNodeAreLimited) {
  EXPECT_THAT(Reported({Node({std::numeric_limits<double>::quiet_NaN()})}), IsEmpty());
  const nodes::ViewPtr view = Node({0.5});
  control::Report report = *view->report;
  report.mutable_versions(0)->mutable_evidence()->mutable_pairs()->mutable_worst(0)->set_output(std::string(9999, '.'));
  auto hostile = std::make_shared<nodes::NodeView>(*view);
  hostile->report = std::make_shared<control::Report>(report);
  EXPECT_EQ(Reported({hostile}).at(0).pair.output().size(), node_contract::kWorstPairTextBytesMax);
}

TEST(ConsoleWorstPairs, OfAllNodesTheWorstAreKeptWhateverTheOrderOfTheReports) {
  const std::vector<NodePair> of_a = {Pair("a", 0.9), Pair("a", 0.5), Pair("a", 0.1)};
  const std::vector<NodePair> of_b = {Pair("b", 1), Pair("b", 0.5), Pair("b", 0.4)};
  const auto expected = ElementsAre("b 1", "a 0.9", "a 0.5", "b 0.5", "b 0.4");
  EXPECT_THAT(Texts(WorstOf(of_a, of_b)), expected);
  EXPECT_THAT(Texts(WorstOf(of_b, of_a)), expected);
  EXPECT_THAT(Texts(WorstOf(WorstOf(of_a, of_b), of_b)), expected) << "a pair that is reported again is the same";
  EXPECT_THAT(WorstOf({}, {}), IsEmpty());
}

TEST(ConsoleWorstPairs, EqualPairsOfDifferentTimesAreDifferent) {
  EXPECT_EQ(WorstOf({Pair("a", 1, 1)}, {Pair("a", 1, 2), Pair("a", 1, 1)}).size(), 2u);
}

}  // namespace
}  // namespace longshore::console
