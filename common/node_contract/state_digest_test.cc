#include "common/node_contract/state_digest.h"

#include <gtest/gtest.h>

#include "common/base/sha256.h"

namespace longshore::node_contract {
namespace {

control::DesiredState StateWithLabels(int from, int step) {
  control::DesiredState state;
  state.set_epoch(3);
  state.mutable_fleet()->set_fleet("ns/f");
  state.add_models()->set_served_name("a");
  for (int i = from; i >= 0 && i < 50; i += step) (*state.mutable_models(0)->mutable_labels())[std::to_string(i)] = i;
  state.add_models()->set_served_name("b");
  return state;
}

TEST(DigestOf, DoesNotDependOnTheOrderOfAMap) {
  EXPECT_EQ(DigestOf(StateWithLabels(0, 1)), DigestOf(StateWithLabels(49, -1)));
}

TEST(DigestOf, ChangesWithTheRevisionTheFleetAndEachModel) {
  const std::string before = DigestOf(StateWithLabels(0, 1));
  auto state = StateWithLabels(0, 1);
  state.set_revision(1);
  EXPECT_NE(DigestOf(state), before);
  state = StateWithLabels(0, 1);
  state.mutable_fleet()->add_peers()->set_node("n");
  EXPECT_NE(DigestOf(state), before);
  state = StateWithLabels(0, 1);
  state.mutable_models(1)->set_slo_latency_ms(1);
  EXPECT_NE(DigestOf(state), before);
}

TEST(DigestOf, FollowsThePublishedFormula) {
  const auto state = StateWithLabels(0, 1);
  std::string text = "3/0\n";
  const auto add = [&text](const std::string& bytes) {
    for (const uint8_t byte : Sha256(bytes)) text += static_cast<char>(byte);
  };
  add(SerializePart(state.fleet()));
  add(SerializePart(state.models(0)));
  add(SerializePart(state.models(1)));
  EXPECT_EQ(DigestOf(state), ToHex(Sha256(text)));
}

}  // namespace
}  // namespace longshore::node_contract
