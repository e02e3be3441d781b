#include "common/node_contract/homes.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "common/base/error.h"

namespace longshore::node_contract {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<uint64_t> Nodes(int count) {
  std::vector<uint64_t> nodes;
  for (int i = 0; i < count; ++i) nodes.push_back(HashOfName(fmt::format("node-{}", i)));
  return nodes;
}

TEST(Homes, MatchThePublishedVectors) {
  EXPECT_EQ(HashOfName(""), 0xcbf29ce484222325u);
  EXPECT_EQ(HashOfName("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(HashOfName("digits"), 0x620301a9632d813fu);
  EXPECT_EQ(Nearness(HashOfName("node-4"), HashOfName("digits")), 0xd6285d4161153441u);
  EXPECT_THAT(Nearest(Nodes(10), HashOfName("digits"), 3), ElementsAre(4, 7, 8));
  EXPECT_THAT(Nearest(Nodes(10), HashOfName("halves"), 3), ElementsAre(6, 1, 8));
  EXPECT_THAT(Nearest(Nodes(10), HashOfName("caf\u00e9"), 3), ElementsAre(4, 5, 2));
}

TEST(Homes, AreAllNodesOfASmallFleetAndNoneOfAnEmptyOne) {
  EXPECT_EQ(Nearest(Nodes(2), HashOfName("digits"), kHomesMax).size(), 2u);
  EXPECT_THAT(Nearest({}, HashOfName("digits"), kHomesMax), IsEmpty());
}

TEST(Homes, SpreadEvenlyOverNodesWhoseNamesDifferInOneCharacter) {
  std::map<size_t, int> models;
  for (int i = 0; i < 10'000; ++i) ++models[Nearest(Nodes(100), HashOfName(fmt::format("m{}", i)), 1).front()];
  for (const auto& [node, count] : models) EXPECT_NEAR(count, 100, 50) << node;
  EXPECT_EQ(models.size(), 100u);
}

TEST(Homes, MoveOnlyForModelsWhoseNearestNodeLeft) {
  const std::vector<uint64_t> nodes = Nodes(50);
  std::vector<uint64_t> left(nodes.begin(), nodes.end() - 1);
  for (int i = 0; i < 500; ++i) {
    const uint64_t model = HashOfName(fmt::format("m{}", i));
    const size_t before = Nearest(nodes, model, 1).front();
    if (before == nodes.size() - 1) continue;
    EXPECT_EQ(Nearest(left, model, 1).front(), before);
  }
}

}  // namespace
}  // namespace longshore::node_contract
