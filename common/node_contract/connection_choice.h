// Which connections a node asks to move to other nodes. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace longshore::node_contract {

struct ConnectionLimits {
  double load_share = 0;       // The share of the requests that the chosen connections should have together.
  size_t connections_max = 0;  // At most so many are chosen.
};

// Returns the indexes of the chosen connections, the busiest first. A connection without requests is never chosen,
// because moving it moves no work, and neither is the last one with requests. A connection that has much more than the
// share that is still wanted is skipped: its work would only overload another node.
//
//   ChooseConnections({40, 30, 20, 10, 0}, {.load_share = 0.5, .connections_max = 9})  // {0, 3}: 50 of 100.
std::vector<size_t> ChooseConnections(const std::vector<double>& requests_per_second, const ConnectionLimits& limits);

}  // namespace longshore::node_contract
