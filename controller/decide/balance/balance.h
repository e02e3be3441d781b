// Which nodes should ask clients to connect again, so that nodes which were just added get work.
//
// A client keeps its connection, so a new node gets requests only when connections end (connectionAgeMax) or clients
// come. For a while after a fleet has grown, the nodes with too many requests move connections instead. Pure: time is
// an argument.
//
//   One node with 16 connections answers 800 requests/s; three nodes are added. Round 1: it should move 75 % of its
//   requests, but at most 8 connections. Round 2: 50 %, which are 4 connections. Then each node answers 200 requests/s.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"

namespace longshore::balance {

// What a node did in a round.
struct NodeLoad {
  std::string node;
  int64_t requests = 0;     // From clients, not from other nodes.
  int64_t connections = 0;  // The open connections of clients, also those that are idle.
  bool can_move = true;     // Whether it understands the message; a node of an earlier release does not.
};

// A node should ask the clients of connections with `load_share` of its requests to connect again.
struct Move {
  std::string node;
  double load_share = 0;    // Above 0 and below 1.
  int connections_max = 0;  // At most so many connections: at most half of those that the node has.

  friend bool operator==(const Move&, const Move&) = default;
};

// If a node has less than half of the mean of the requests, each node above the mean moves what it has too much.
// Otherwise only nodes above 1.5 times the mean do. A node with one connection moves nothing: its client would only
// come to another node.
std::vector<Move> DecideMoves(const std::vector<NodeLoad>& nodes);

// What is known of a node.
struct NodeReport {
  std::string node;
  std::string incarnation{};  // Another one for each process of the node. `received` starts at zero with each.
  bool serves = true;         // Whether it is connected, ready and not leaving. Other nodes are not compared.
  int64_t received = 0;       // Requests from clients since the process started.
  int64_t connections = 0;    // As in NodeLoad.
  bool can_move = true;       // As in NodeLoad.
};

// Measures the requests of the nodes of one fleet after it has grown, and decides once per round. Not thread-safe.
class Balancer {
 public:
  // How long after the fleet has grown connections are moved. After that, their maximum age spreads them.
  static constexpr Duration kWindow = std::chrono::seconds(20);
  // Limit of rounds with moves after the fleet has grown. A round moves at most half of the connections, so each moves
  // at most 3 times on average.
  static constexpr int kRoundsMax = 6;
  // Limit of rounds over time, because a rolling update or a node that crashes again and again is growth without end.
  // Two growths may follow each other at once. After them there is one round per kRoundAgain.
  static constexpr int kSavedRoundsMax = 2 * kRoundsMax;
  static constexpr Duration kRoundAgain = std::chrono::seconds(50);
  // A round measures at least so long, because reports are up to 200 ms old, and until there are so many requests per
  // node that chance does not decide.
  static constexpr Duration kMeasureMin = std::chrono::milliseconds(800);
  static constexpr int64_t kRequestsMin = 20;
  // After a round with moves, clients get this time to connect again before the next round measures.
  static constexpr Duration kSettle = std::chrono::milliseconds(300);

  // A node that was started before the controller and is not known yet: when it comes, the fleet has not grown.
  void Adopt(const std::string& node) { members_[node]; }

  // Call it when nodes have reported. `nodes`: all nodes of the fleet, also those that are not connected. The fleet has
  // grown when a node serves that was not known before, or has a new process.
  std::vector<Move> Next(const std::vector<NodeReport>& nodes, MonotonicPoint now);

 private:
  struct Member {
    std::string incarnation{};  // "": adopted.
    int64_t received = 0;       // When the round began.
    bool serves = false;
  };
  struct Growth {
    MonotonicPoint ends_at;
    MonotonicPoint settles_at;  // Clients have connected again; the next round begins.
    MonotonicPoint round_from;
    int rounds_left;
  };
  struct Admitted {
    bool has_grown = false;
    bool has_joined = false;  // Whether a node serves that did not; it may be known.
  };

  Admitted Admit(const std::vector<NodeReport>& nodes);
  void SaveRounds(MonotonicPoint now);
  void BeginRound(const std::vector<NodeReport>& nodes, MonotonicPoint now);
  std::vector<NodeLoad> Measure(const std::vector<NodeReport>& nodes) const;

  std::map<std::string, Member> members_;  // Key: node.
  std::optional<Growth> growth_;           // nullopt: the requests are spread, or the time is over.
  int saved_rounds_ = kSavedRoundsMax;
  MonotonicPoint saved_at_;  // When the last round was added to saved_rounds_, or they were complete.
};

}  // namespace longshore::balance
