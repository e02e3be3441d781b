// Type inference: what is known about a graph's tensors before it runs. These are element types, shapes, and the values
// of tensors that depend only on constants and shapes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serving-node/graph/graph.h"

namespace longshore::graph {

struct Type {
  tensor::DType type = tensor::DType::kInvalid;
  std::optional<tensor::Shape> shape;   // nullopt: the rank is unknown; -1: a size that is known only in the run.
  std::optional<tensor::Tensor> value;  // Set if it depends only on constants and known shapes.
  // For a list of tensors: the shape of each tensor in it, in the notation of `shape`.
  std::optional<tensor::Shape> element = std::nullopt;

  bool is_static() const;  // Whether every size is known and the tensor is within kTensorBytesMax.
};

// The op of nodes that a pass replaced by values found in an inference. Later inferences still count these values
// against their limit.
inline constexpr std::string_view kKnown = "Known";

// The types of all outputs of a graph's nodes. A node about which nothing is known has an empty list.
class Types {
 public:
  explicit Types(size_t nodes) : of_(nodes) {}

  // Requires: an edge of the graph.
  const Type& at(const Edge& edge) const;
  const std::vector<Type>& outputs(size_t node) const { return of_[node]; }
  void Set(size_t node, std::vector<Type> outputs) { of_[node] = std::move(outputs); }

 private:
  std::vector<std::vector<Type>> of_;
};

// Computes the outputs of one node for given inputs; nullopt if the op cannot or must not be computed ahead of a run.
using Evaluate =
    std::function<std::optional<std::vector<tensor::Tensor>>(const Node& node, std::span<const tensor::Tensor> inputs)>;

// Infers the types of all nodes. `fed`: the types of the fed tensors, by the names in Graph::fed. `bodies`: those of
// the main graph; they determine the types of If, Case and While. Never fails: a mismatch leaves the type unknown, and
// the run reports the error.
Types InferTypes(const Graph& graph, std::span<const Graph> bodies, const std::map<std::string, Type>& fed,
                 const Evaluate& evaluate);

// The shape of `a` and `b` broadcast together by NumPy's rules, -1 for unknown sizes; nullopt if they do not fit.
std::optional<tensor::Shape> Broadcast(const tensor::Shape& a, const tensor::Shape& b);

// The most specific shape that covers both: -1 where the sizes differ, nullopt if the ranks differ.
std::optional<tensor::Shape> EitherShape(const std::optional<tensor::Shape>& a, const std::optional<tensor::Shape>& b);

// How an operand of an element-wise op is broadcast to the result. Examples for a result of shape [2, 3, 4, 8]:
enum class BroadcastKind {
  kFull,      // Not broadcast: [2, 3, 4, 8].
  kScalar,    // One number: [] or [1, 1].
  kTrailing,  // The last axes, repeated for all others: [8] or [4, 8].
  kPerRow,    // One number for each row, a row being the last axis: [2, 3, 4, 1].
  kMiddle,    // Repeated over axes in the middle: [2, 1, 1, 8], a number for each channel of each image.
};
// nullopt for every other kind of broadcast. Requires: `operand` broadcasts to `result`, no size is -1.
std::optional<BroadcastKind> BroadcastKindOf(const tensor::Shape& operand, const tensor::Shape& result);

}  // namespace longshore::graph
