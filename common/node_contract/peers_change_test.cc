#include "common/node_contract/peers_change.h"

#include <gmock/gmock.h>

namespace longshore::node_contract {
namespace {

using testing::ElementsAre;

// A fleet whose peers all have this address.
control::FleetState Fleet(std::initializer_list<const char*> nodes, const std::string& address) {
  control::FleetState fleet;
  for (const char* node : nodes) {
    auto& peer = *fleet.add_peers();
    peer.set_node(node);
    peer.set_address(address);
  }
  return fleet;
}

control::PeersChange Change(std::initializer_list<const char*> set, std::initializer_list<const char*> left) {
  control::PeersChange change;
  *change.mutable_set() = Fleet(set, "new").peers();
  for (const char* node : left) change.add_left(node);
  return change;
}

std::vector<std::string> ToText(const control::FleetState& fleet) {
  std::vector<std::string> text;
  for (const control::Peer& peer : fleet.peers()) text.push_back(peer.node() + " " + peer.address());
  return text;
}

TEST(ApplyPeers, SetsAndRemovesAndKeepsTheOrder) {
  auto fleet = Fleet({"b", "d", "f"}, "old");
  fleet.set_fleet("ns/f");
  ASSERT_TRUE(ApplyPeers(Change({"a", "d", "e"}, {"f", "never there"}), &fleet));
  EXPECT_THAT(ToText(fleet), ElementsAre("a new", "b old", "d new", "e new"));
  EXPECT_EQ(fleet.fleet(), "ns/f");
  ASSERT_TRUE(ApplyPeers({}, &fleet));
  EXPECT_EQ(fleet.peers_size(), 4);
}

TEST(ApplyPeers, RefusesAContradictoryChangeAndChangesNothing) {
  auto fleet = Fleet({"b"}, "old");
  for (const auto& change : {Change({"b"}, {"b"}), Change({"b", "b"}, {}), Change({""}, {})}) {
    EXPECT_EQ(ApplyPeers(change, &fleet).error().code, Code::kInvalidArgument) << change.DebugString();
  }
  EXPECT_THAT(ToText(fleet), ElementsAre("b old"));
}

}  // namespace
}  // namespace longshore::node_contract
