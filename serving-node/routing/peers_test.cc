#include "serving-node/routing/peers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "common/node_contract/homes.h"

namespace longshore::routing {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// A fleet of the nodes "node-0", "node-1", ... with the addresses "a:0", "a:1", ...; the first node has no address.
control::FleetState Fleet(int nodes) {
  control::FleetState fleet;
  for (int i = 0; i < nodes; ++i) {
    auto& peer = *fleet.add_peers();
    peer.set_node(fmt::format("node-{}", i));
    if (i > 0) peer.set_address(fmt::format("a:{}", i));
  }
  return fleet;
}

google::protobuf::RepeatedPtrField<std::string> Names(std::initializer_list<int> numbers) {
  google::protobuf::RepeatedPtrField<std::string> names;
  for (const int number : numbers) names.Add(fmt::format("node-{}", number));
  return names;
}

TEST(Peers, ReturnTheAddressesOfOtherNodesThatHaveOne) {
  const Peers peers(Fleet(1000), "node-7");
  EXPECT_THAT(peers.AddressesOf(Names({0, 7, 999, 10, 2, 1000})), ElementsAre("a:999", "a:10", "a:2"));
  EXPECT_THAT(peers.AddressesOf({}), IsEmpty());
}

TEST(Peers, AgreeWithThePublishedHomeVectors) {
  EXPECT_THAT(Peers(Fleet(10), "").HomesOf("digits"), ElementsAre("a:4", "a:7", "a:8"));
}

TEST(Peers, LeaveOutThisNodeAmongTheHomes) {
  EXPECT_THAT(Peers(Fleet(10), "node-7").HomesOf("digits"), ElementsAre("a:4", "a:8"));
  EXPECT_THAT(Peers(Fleet(10), "node-3").HomesOf("digits"), SizeIs(node_contract::kHomesMax));
}

TEST(Peers, DoNotUseANodeWithoutAddressAsHome) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(Peers(Fleet(4), "").HomesOf(fmt::format("m{}", i)), UnorderedElementsAre("a:1", "a:2", "a:3"));
  }
  EXPECT_THAT(Peers(Fleet(1), "").HomesOf("m"), IsEmpty());
  EXPECT_THAT(Peers().HomesOf("m"), Not(Contains("")));
}

}  // namespace
}  // namespace longshore::routing
