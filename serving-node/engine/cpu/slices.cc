#include "serving-node/engine/cpu/slices.h"

#include <algorithm>

#include "serving-node/graph/ops.h"

namespace longshore::engine::cpu {
namespace {

// Returns the number of rows of the fed tensors, not counting scalars. Returns nullopt if the number is not known or
// differs between tensors, or if all rows are empty, because a client can ask for any number of empty rows.
std::optional<int64_t> RowCount(const graph::Graph& graph, const graph::Types& types) {
  std::optional<int64_t> rows;
  bool has_elements = false;
  for (const auto& [name, node] : graph.fed) {
    const graph::Type& type = types.at({node, 0});
    if (!type.is_static() || tensor::ElementBytes(type.type) == 0) return std::nullopt;
    if (type.shape->empty()) continue;
    if (rows.value_or(type.shape->front()) != type.shape->front()) return std::nullopt;
    rows = type.shape->front();
    has_elements = has_elements || tensor::ElementCount(*type.shape).value_or(0) > 0;
  }
  return has_elements ? rows : std::nullopt;
}

// The bytes that one run of the graph reads and writes.
struct Moved {
  int64_t weights = 0;
  int64_t made = 0;  // The bytes of the outputs of all steps.
  int64_t most = 0;  // The bytes of the inputs and outputs of the largest step, without weights.
};

std::optional<Moved> MovedBy(const graph::Graph& graph, const graph::Types& types) {
  Moved moved;
  const auto bytes_of = [&](const graph::Edge& edge) {
    const graph::Type& type = types.at(edge);
    return tensor::ElementCount(*type.shape).value_or(0) * static_cast<int64_t>(tensor::ElementBytes(type.type));
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const graph::Edge made = {static_cast<int>(i), 0};
    if (!types.at(made).is_static()) return std::nullopt;
    if (types.at(made).value) {
      moved.weights += bytes_of(made);
      continue;
    }
    const std::string& op = graph.nodes[i].op;
    if (op == "Placeholder" || graph::FindOp(op).alias == graph::Alias::kYes) continue;  // Such a node has no step.
    int64_t by_step = bytes_of(made);
    moved.made += by_step;
    for (const graph::Edge& input : graph.nodes[i].inputs) {
      if (types.at(input).is_static() && !types.at(input).value) by_step += bytes_of(input);
    }
    moved.most = std::max(moved.most, by_step);
  }
  return moved;
}

}  // namespace

std::optional<Slices> SlicesThatPay(const graph::Graph& graph, const graph::Types& types, int64_t bytes) {
  const auto rows = RowCount(graph, types);
  if (rows.value_or(0) < 2) return std::nullopt;
  const auto moved = MovedBy(graph, types);
  if (!moved || moved->most <= bytes) return std::nullopt;
  const int64_t fitting = std::max<int64_t>(1, bytes / std::max<int64_t>(1, moved->most / *rows));
  int64_t each = std::min(fitting, *rows / 2);
  while (*rows % each != 0) --each;
  if (2 * each < fitting) return std::nullopt;  // The largest divisor is too small (1 for a prime number of rows).
  if (moved->weights > moved->made / *rows * each) return std::nullopt;
  return Slices{*rows, each};
}

std::optional<Slices> SlicesOfOne(const graph::Graph& graph, const graph::Types& types) {
  const auto rows = RowCount(graph, types);
  return rows.value_or(0) > 1 ? std::optional(Slices{.rows = *rows, .each = 1}) : std::nullopt;
}

std::map<std::string, graph::Type> WithRows(std::map<std::string, graph::Type> fed, int64_t rows) {
  for (auto& [name, type] : fed) {
    if (type.shape && !type.shape->empty()) type.shape->front() = rows;
  }
  return fed;
}

}  // namespace longshore::engine::cpu
