#include "common/os/process/accept_turn.h"

#include <gtest/gtest.h>

namespace longshore::process {
namespace {

using std::chrono::microseconds;

TEST(AcceptTurn, AProcessThatSharesItsSocketWithNoneNeverWaits) {
  for (const size_t connections : {0u, 1u, 100u, 10000u}) {
    const AcceptTurn turn = AcceptTurnOf(connections, false);
    EXPECT_EQ(turn.wait, microseconds(0)) << connections;
    EXPECT_GE(turn.connections_max, 64u) << connections;
  }
}

TEST(AcceptTurn, TheProcessWithFewerConnectionsWaitsLess) {
  EXPECT_EQ(AcceptTurnOf(0, true).wait, microseconds(0));
  for (size_t connections = 0; connections < 25; ++connections)
    EXPECT_LT(AcceptTurnOf(connections, true).wait, AcceptTurnOf(connections + 1, true).wait) << connections;
  EXPECT_EQ(AcceptTurnOf(10000, true).wait, microseconds(5000));
}

TEST(AcceptTurn, AProcessAcceptsAtMostAFifthOfWhatItHasSoThatItTakesFewFromOthers) {
  EXPECT_EQ(AcceptTurnOf(0, true).connections_max, 1u);
  for (size_t connections = 5; connections < 30; ++connections)
    EXPECT_LE(AcceptTurnOf(connections, true).connections_max, connections / 5) << connections;
}

TEST(AcceptTurn, ASharedSocketIsNotLimitedToFewConnectionsPerSecond) {
  for (const size_t connections : {1u, 9u, 25u, 100u, 10000u}) {
    const AcceptTurn turn = AcceptTurnOf(connections, true);
    const double per_second = 1e6 * static_cast<double>(turn.connections_max) / static_cast<double>(turn.wait.count());
    EXPECT_GE(per_second, 500) << connections;
  }
}

}  // namespace
}  // namespace longshore::process
