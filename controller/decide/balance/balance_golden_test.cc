// Runs tests/golden/balance. A case has
//   nodes:  [{node: a, requests: 800, connections: 16, canMove: false}]; by default canMove is true
//   expect: {moves: [{node: a, loadPercent: 75, connectionsMax: 8}]}
#include <gtest/gtest.h>

#include <cmath>

#include "controller/decide/balance/balance.h"
#include "tests/golden/golden.h"

namespace longshore::balance {
namespace {

using golden::Child;
using golden::Get;

std::vector<NodeLoad> NodesFrom(const Json& json) {
  std::vector<NodeLoad> nodes;
  for (const Json& node : Child(json, "nodes")) {
    nodes.push_back({.node = Get<std::string>(node, "node", ""),
                     .requests = Get<int64_t>(node, "requests", 0),
                     .connections = Get<int64_t>(node, "connections", 0),
                     .can_move = Get(node, "canMove", true)});
  }
  return nodes;
}

Json Shown(const std::vector<Move>& moves) {
  Json shown = Json::array();
  for (const Move& move : moves) {
    shown.push_back({{"node", move.node},
                     {"loadPercent", std::lround(100 * move.load_share)},
                     {"connectionsMax", move.connections_max}});
  }
  return {{"moves", shown}};
}

TEST(BalanceGolden, EveryCaseDecidesAsItSays) {
  const auto cases = golden::LoadCases("balance");
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_GE(cases->size(), 10u);
  for (const golden::Case& test : *cases) {
    const Json outcome = Shown(DecideMoves(NodesFrom(test.json)));
    for (const std::string& difference : golden::Differences(Child(test.json, "expect"), outcome)) {
      ADD_FAILURE() << test.where << "\n  " << difference << "\n  " << outcome.dump();
    }
  }
}

}  // namespace
}  // namespace longshore::balance
