// What is known of a graph's values before it runs: element types and shapes, and the values that depend on shapes
// alone.
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
  std::optional<tensor::Shape> shape;   // nullopt: not even the rank; -1: a size that only the run knows.
  std::optional<tensor::Tensor> value;  // Where it depends on no input, or only on shapes that are known.
  // Of each tensor in a list of tensors, as `shape`.
  std::optional<tensor::Shape> element = std::nullopt;

  bool is_static() const;  // Every size is known, and a tensor may be as large.
};

// The op of nodes that were given the values which an inference found: they still count as found.
inline constexpr std::string_view kKnown = "Known";

// By node, by output. A node of which nothing is known has no outputs here.
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

// The outputs of one node for given inputs, or nothing when it cannot or must not be computed ahead of a run.
using Evaluate =
    std::function<std::optional<std::vector<tensor::Tensor>>(const Node& node, std::span<const tensor::Tensor> inputs)>;

// `fed`: types by the names that the graph has for what is fed. `bodies`: of the whole graph; what If, Case and While
// give follows from theirs. Never fails: what does not fit is left for the run to say.
Types InferTypes(const Graph& graph, std::span<const Graph> bodies, const std::map<std::string, Type>& fed,
                 const Evaluate& evaluate);

// The shape of both together as NumPy broadcasts, with -1 where it is not known; nullopt when they do not fit.
std::optional<tensor::Shape> Broadcast(const tensor::Shape& a, const tensor::Shape& b);

// What holds of a value that has the one shape or the other.
std::optional<tensor::Shape> EitherShape(const std::optional<tensor::Shape>& a, const std::optional<tensor::Shape>& b);

// How an operand of an element-wise op lies beside its result: as large as it, one number, the last axes of it that
// repeat for all others, one number for each row, a row being the last axis, or for each of the first axes a row of the
// last that repeats for those between, as what is said of each image's channels. nullopt for every other way of
// broadcasting. Requires: they broadcast, no size of -1.
enum class Lies { kWhole, kNumber, kRow, kPerRow, kBetween };
std::optional<Lies> LiesBeside(const tensor::Shape& operand, const tensor::Shape& result);

}  // namespace longshore::graph
