#include "common/node_contract/homes.h"

#include <algorithm>
#include <utility>

#include "common/base/mix.h"

namespace longshore::node_contract {

uint64_t HashOfName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// Mix64 lets every bit of both hashes affect the result.
uint64_t Nearness(uint64_t node, uint64_t model) { return Mix64(node ^ (model * kGolden64)); }

std::vector<size_t> Nearest(const std::vector<uint64_t>& nodes, uint64_t model, size_t nodes_max) {
  std::vector<std::pair<uint64_t, size_t>> order;
  order.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) order.emplace_back(~Nearness(nodes[i], model), i);
  const size_t count = std::min(nodes_max, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
  std::vector<size_t> nearest;
  for (size_t i = 0; i < count; ++i) nearest.push_back(order[i].second);
  return nearest;
}

}  // namespace longshore::node_contract
