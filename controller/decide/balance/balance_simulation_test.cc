// Runs the Balancer with a simulated fleet, whose clients keep their connections until a node asks them to connect
// again. Each run has new seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "common/node_contract/connection_choice.h"
#include "controller/decide/balance/balance.h"
#include "tests/seeds/seeds.h"

namespace longshore::balance {
namespace {

constexpr uint64_t kSeeds = 300;
constexpr Duration kStep = std::chrono::milliseconds(200);  // Between two reports of a node.
constexpr MonotonicPoint kStart{std::chrono::hours(1)};

// To which node a client connects.
enum class Choice {
  kRandom,  // As kube-proxy chooses.
  kFewest,  // The node with the fewest connections, as on one host.
};

struct Fleet {
  std::mt19937_64 random;
  Choice choice = Choice::kRandom;
  std::vector<double> rates;     // Requests per second of each connection.
  std::vector<size_t> at;        // Which node each connection is at.
  std::vector<double> received;  // By each node.
  std::vector<int> starts;       // How often each node was started again.
  MonotonicPoint now = kStart;
  Balancer balancer;
  int moved = 0;
  int rounds = 0;  // With moves.

  size_t nodes() const { return received.size(); }
  int64_t ConnectionsOf(size_t node) const { return std::ranges::count(at, node); }
  double RateOf(size_t node) const {
    double rate = 0;
    for (size_t i = 0; i < at.size(); ++i) rate += at[i] == node ? rates[i] : 0;
    return rate;
  }
  void Connect(size_t connection) {
    at[connection] = nodes();  // Nowhere.
    size_t node = std::uniform_int_distribution<size_t>(0, nodes() - 1)(random);
    for (size_t i = 0; choice == Choice::kFewest && i < nodes(); ++i) {
      if (ConnectionsOf(i) < ConnectionsOf(node)) node = i;
    }
    at[connection] = node;
  }
  // Moves the connections that a node would choose.
  void Carry(const Move& move) {
    const size_t node = std::stoul(move.node);
    std::vector<size_t> own;
    std::vector<double> own_rates;
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] != node) continue;
      own.push_back(i);
      own_rates.push_back(rates[i]);
    }
    const auto chosen = node_contract::ChooseConnections(
        own_rates, {.load_share = move.load_share, .connections_max = static_cast<size_t>(move.connections_max)});
    for (const size_t i : chosen) Connect(own[i]);
    moved += static_cast<int>(chosen.size());
  }
  // Lets 200 ms pass. Returns the moves.
  std::vector<Move> Step() {
    now += kStep;
    starts.resize(nodes());
    std::vector<NodeReport> reports;
    for (size_t node = 0; node < nodes(); ++node) {
      received[node] += RateOf(node) * std::chrono::duration<double>(kStep).count();
      reports.push_back({.node = std::to_string(node),
                         .incarnation = std::to_string(starts[node]),
                         .received = static_cast<int64_t>(received[node]),
                         .connections = ConnectionsOf(node)});
    }
    std::vector<Move> moves = balancer.Next(reports, now);
    for (const Move& move : moves) Carry(move);
    rounds += moves.empty() ? 0 : 1;
    return moves;
  }
  // Starts a node again. Its clients connect to the others.
  void Restart(size_t node) {
    ++starts[node];
    received[node] = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      while (at[i] == node) Connect(i);
    }
  }
  void StepFor(Duration time) {
    const MonotonicPoint end = now + time;
    while (now < end) Step();
  }
};

struct Case {
  size_t nodes_before = 1;
  size_t nodes_after = 4;
  size_t connections = 16;
  double rate_spread = 0.2;
  bool has_heavy_tail = false;  // A few connections have most requests (a Pareto distribution).
  Choice choice = Choice::kRandom;
};

// Returns at least 10 requests per second, 41 on average, and more than 460 in one of a hundred cases.
double HeavyTailed(std::mt19937_64& random) {
  const double uniform = std::uniform_real_distribution(0.001, 1.0)(random);
  return 10 * std::pow(uniform, -1 / 1.2);
}

// Returns a fleet that has just grown. Its clients came when it had fewer nodes.
Fleet GrownFleet(const Case& given, uint64_t seed) {
  Fleet fleet;
  fleet.random.seed(seed);
  fleet.choice = given.choice;
  fleet.received.resize(given.nodes_before);
  std::uniform_real_distribution rate(50 * (1 - given.rate_spread), 50 * (1 + given.rate_spread));
  for (size_t i = 0; i < given.connections; ++i) {
    fleet.rates.push_back(given.has_heavy_tail ? HeavyTailed(fleet.random) : rate(fleet.random));
    fleet.at.push_back(given.nodes_before);
    fleet.Connect(i);
  }
  fleet.StepFor(Balancer::kWindow + 2 * kStep);
  fleet.moved = 0;
  fleet.received.resize(given.nodes_after);
  return fleet;
}

Case RandomCase(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto between = [&](size_t low, size_t high) { return std::uniform_int_distribution(low, high)(random); };
  Case given;
  given.nodes_before = between(1, 4);
  given.nodes_after = given.nodes_before + between(1, 6);
  given.connections = between(1, 100);
  given.choice = between(0, 1) == 0 ? Choice::kRandom : Choice::kFewest;
  given.has_heavy_tail = between(0, 1) == 0;
  return given;
}

TEST(BalanceSimulation, MovesFewConnectionsAtATimeNeverAllAndStops) {
  const uint64_t first = seeds::First(kSeeds);
  for (uint64_t seed = first; seed < first + kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const Case given = RandomCase(seed);
    Fleet fleet = GrownFleet(given, seed);
    const MonotonicPoint grown_at = fleet.now;
    MonotonicPoint last = grown_at;
    while (fleet.now - grown_at < 2 * Balancer::kWindow) {
      std::vector<int64_t> before;
      for (size_t node = 0; node < fleet.nodes(); ++node) before.push_back(fleet.ConnectionsOf(node));
      const std::vector<Move> moves = fleet.Step();
      for (const Move& move : moves) {
        const int64_t had = before[std::stoul(move.node)];
        EXPECT_GE(move.connections_max, 1);
        EXPECT_LE(move.connections_max, had / 2);
        EXPECT_GT(move.load_share, 0);
        EXPECT_LT(move.load_share, 1);
        EXPECT_GE(fleet.now - last, Balancer::kMeasureMin);
        EXPECT_LE(fleet.now - grown_at, Balancer::kWindow + kStep);
      }
      if (!moves.empty()) last = fleet.now;
    }
    EXPECT_LE(fleet.moved, 3 * static_cast<int>(given.connections));
  }
}

// Enough connections are eight per node, with about the same requests. Where clients connect at random, shares stay
// random, so that in a few of a thousand runs a node has no connection yet.
TEST(BalanceSimulation, NewNodesGetWorkWithinThreeSecondsIfConnectionsAreEnough) {
  const uint64_t first = seeds::First(kSeeds);
  int idle = 0;
  for (uint64_t seed = first; seed < first + kSeeds; ++seed) {
    Case given = RandomCase(seed);
    given.connections = 8 * given.nodes_after;
    given.has_heavy_tail = false;
    Fleet fleet = GrownFleet(given, seed);
    fleet.StepFor(std::chrono::seconds(3));
    for (size_t node = 0; node < fleet.nodes(); ++node) idle += fleet.RateOf(node) > 0 ? 0 : 1;
  }
  EXPECT_LE(idle, static_cast<int>(kSeeds / 60));
}

TEST(BalanceSimulation, NewNodesGetWorkAlsoIfAFewConnectionsHaveMostRequests) {
  const uint64_t first = seeds::First(kSeeds);
  int idle = 0;
  for (uint64_t seed = first; seed < first + kSeeds; ++seed) {
    Fleet fleet = GrownFleet({.connections = 64, .has_heavy_tail = true}, seed);
    fleet.StepFor(std::chrono::seconds(6));
    for (size_t node = 0; node < fleet.nodes(); ++node) idle += fleet.RateOf(node) > 0 ? 0 : 1;
  }
  EXPECT_LE(idle, static_cast<int>(kSeeds / 60));
}

TEST(BalanceSimulation, WhereEachConnectionGoesToTheEmptiestNodeSharesAreWithinAFactorOfTwoSoon) {
  for (const size_t connections : {8, 16, 64}) {
    Fleet fleet = GrownFleet({.connections = connections, .choice = Choice::kFewest}, connections);
    fleet.StepFor(std::chrono::milliseconds(3500));
    for (size_t node = 0; node < fleet.nodes(); ++node) {
      EXPECT_LE(fleet.RateOf(node), 2.1 * fleet.RateOf((node + 1) % fleet.nodes())) << connections;
    }
    EXPECT_LE(fleet.moved, static_cast<int>(connections));
  }
}

// Restarts the nodes in turn, `count` times. Checks that the rounds have a limit, however long this lasts.
void ExpectFewRounds(Fleet& fleet, size_t nodes, int count, Duration pause) {
  const MonotonicPoint from = fleet.now;
  fleet.rounds = 0;
  for (int i = 0; i < count; ++i) {
    fleet.Restart(static_cast<size_t>(i) % nodes);
    fleet.StepFor(pause);
  }
  EXPECT_GE(fleet.rounds, Balancer::kSavedRoundsMax);
  EXPECT_LE(fleet.rounds, Balancer::kSavedRoundsMax + (fleet.now - from) / Balancer::kRoundAgain);
}

TEST(BalanceSimulation, ANodeThatCrashesAgainAndAgainMovesFewConnections) {
  Fleet fleet = GrownFleet({.connections = 64}, 1);
  fleet.StepFor(Balancer::kWindow);
  ExpectFewRounds(fleet, 1, 360, std::chrono::seconds(10));
}

TEST(BalanceSimulation, ARollingUpdateMovesFewConnections) {
  Fleet fleet = GrownFleet({.nodes_before = 90, .nodes_after = 100, .connections = 800}, 1);
  fleet.StepFor(Balancer::kWindow);
  ExpectFewRounds(fleet, 100, 100, std::chrono::seconds(6));
}

TEST(BalanceSimulation, NodesThatAreAddedSoonAfterOthersGetWorkJustAsSoon) {
  const uint64_t first = seeds::First(kSeeds);
  int idle = 0;
  for (uint64_t seed = first; seed < first + kSeeds; ++seed) {
    Fleet fleet = GrownFleet({.nodes_before = 2, .nodes_after = 4, .connections = 64}, seed);
    fleet.StepFor(std::chrono::seconds(8));
    fleet.received.resize(8);
    fleet.StepFor(std::chrono::seconds(3));
    for (size_t node = 0; node < fleet.nodes(); ++node) idle += fleet.RateOf(node) > 0 ? 0 : 1;
  }
  EXPECT_LE(idle, static_cast<int>(kSeeds / 60));
}

TEST(BalanceSimulation, ASingleConnectionStaysWhereItIs) {
  Fleet fleet = GrownFleet({.connections = 1}, 1);
  fleet.StepFor(2 * Balancer::kWindow);
  EXPECT_EQ(fleet.moved, 0);
}

TEST(BalanceSimulation, FourConnectionsOfFourNodesSpreadOnOneHost) {
  Fleet fleet = GrownFleet({.connections = 4, .choice = Choice::kFewest}, 1);
  fleet.StepFor(std::chrono::seconds(4));
  for (size_t node = 0; node < fleet.nodes(); ++node) EXPECT_EQ(fleet.ConnectionsOf(node), 1) << node;
}

TEST(BalanceSimulation, AFleetThatHasNotGrownOrIsEvenMovesNothing) {
  const uint64_t first = seeds::First(kSeeds);
  for (uint64_t seed = first; seed < first + kSeeds; ++seed) {
    Fleet fleet = GrownFleet(RandomCase(seed), seed);
    fleet.StepFor(2 * Balancer::kWindow);
    fleet.moved = 0;
    // However uneven the requests become, the fleet does not grow.
    std::ranges::fill(fleet.at, size_t{0});
    fleet.StepFor(Balancer::kWindow);
    EXPECT_EQ(fleet.moved, 0) << "seed " << seed;
    // It grows when each of its nodes has the same load, and so has the new one.
    fleet.received.push_back(0);
    fleet.at.clear();
    for (size_t node = 0; node < fleet.nodes(); ++node) fleet.at.insert(fleet.at.end(), 4, node);
    fleet.rates.assign(fleet.at.size(), 50);
    fleet.StepFor(Balancer::kWindow);
    EXPECT_EQ(fleet.moved, 0) << "seed " << seed;
  }
}

TEST(Balancer, WaitsUntilThereAreEnoughRequestsToJudge) {
  Fleet fleet = GrownFleet({.nodes_before = 1, .nodes_after = 2, .connections = 8}, 1);
  for (double& rate : fleet.rates) rate = 0.2;
  fleet.StepFor(2 * Balancer::kWindow);
  EXPECT_EQ(fleet.moved, 0) << "32 requests in 20 seconds";
}

// Node "a" has all requests and 8 connections.
std::vector<NodeReport> BusyAnd(const NodeReport& b, int64_t received) {
  return {{.node = "a", .incarnation = "first", .received = received, .connections = 8}, b};
}

// Whether the balancer moves connections when requests come from now on, and only "a" gets them.
bool Moves(Balancer& balancer, const NodeReport& b, MonotonicPoint now) {
  balancer.Next(BusyAnd(b, 0), now);
  const std::vector<Move> moves = balancer.Next(BusyAnd(b, 100), now + std::chrono::seconds(1));
  if (moves.empty()) return false;
  EXPECT_EQ(moves, (std::vector<Move>{{.node = "a", .load_share = 0.5, .connections_max = 4}}));
  return true;
}

TEST(Balancer, ARestartedNodeIsANewOne) {
  Balancer balancer;
  EXPECT_TRUE(Moves(balancer, {.node = "b", .incarnation = "first"}, kStart));
  const MonotonicPoint late = kStart + 2 * Balancer::kWindow;
  EXPECT_FALSE(Moves(balancer, {.node = "b", .incarnation = "first"}, late)) << "the fleet has not grown for a while";
  EXPECT_TRUE(Moves(balancer, {.node = "b", .incarnation = "second"}, late + std::chrono::seconds(2)));
}

TEST(Balancer, ANodeThatDoesNotServeIsNotCompared) {
  Balancer balancer;
  EXPECT_FALSE(Moves(balancer, {.node = "b", .incarnation = "first", .serves = false}, kStart));
}

TEST(Balancer, ANodeThatWasNotReadyForAWhileIsNotNew) {
  Balancer balancer;
  EXPECT_TRUE(Moves(balancer, {.node = "b", .incarnation = "first"}, kStart));
  const MonotonicPoint late = kStart + 2 * Balancer::kWindow;
  EXPECT_FALSE(Moves(balancer, {.node = "b", .incarnation = "first", .serves = false}, late));
  EXPECT_FALSE(Moves(balancer, {.node = "b", .incarnation = "first"}, late + std::chrono::seconds(2)));
}

TEST(Balancer, ANodeThatWasNotConnectedForAWhileIsNotNew) {
  Balancer balancer;
  EXPECT_TRUE(Moves(balancer, {.node = "b", .incarnation = "first"}, kStart));
  const MonotonicPoint late = kStart + 2 * Balancer::kWindow;
  EXPECT_FALSE(Moves(balancer, {.node = "b", .serves = false}, late)) << "its process is unknown for now";
  EXPECT_FALSE(Moves(balancer, {.node = "b", .incarnation = "first"}, late + std::chrono::seconds(2)));
}

TEST(Balancer, ANodeThatJoinsInTheMiddleOfARoundIsMeasuredAsLongAsTheOthers) {
  Balancer balancer;
  const auto next = [&](int ms, const std::string& incarnation, int64_t received_by_a, int64_t received_by_b) {
    const NodeReport b{.node = "b", .incarnation = incarnation, .received = received_by_b, .connections = 8};
    return balancer.Next(BusyAnd(b, received_by_a), kStart + std::chrono::milliseconds(ms));
  };
  EXPECT_TRUE(next(0, "first", 0, 0).empty());
  EXPECT_TRUE(next(700, "second", 350, 0).empty());
  EXPECT_TRUE(next(900, "second", 450, 100).empty()) << "\"b\" had 100 requests in 200 ms";
  EXPECT_TRUE(next(1700, "second", 850, 500).empty()) << "both had 500 requests";
}

TEST(Balancer, NodesThatAreOlderThanTheControllerAreNotNew) {
  Balancer balancer;
  balancer.Adopt("a");
  balancer.Adopt("b");
  balancer.Next(BusyAnd({.node = "b", .serves = false}, 0), kStart);  // "b" connects later.
  EXPECT_FALSE(Moves(balancer, {.node = "b", .incarnation = "first"}, kStart + std::chrono::seconds(1)));
  EXPECT_TRUE(Moves(balancer, {.node = "b", .incarnation = "second"}, kStart + std::chrono::seconds(3)));
}

}  // namespace
}  // namespace longshore::balance
