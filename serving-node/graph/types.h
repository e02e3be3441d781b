// What is known about a graph's tensors before it runs: element types, shapes, and the values of tensors that depend
// only on constants and shapes. infer_types.h finds it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "serving-node/graph/graph.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::graph {

struct Type {
  tensor::DType type = tensor::DType::kInvalid;
  std::optional<tensor::Shape> shape;   // nullopt: the rank is unknown; -1: a size that is known only in the run.
  std::optional<tensor::Tensor> value;  // Set if it depends only on constants and known shapes.
  // For a list of tensors: the shape of each tensor in it, in the notation of `shape`, and their number. For a table:
  // the shape of each value in it.
  std::optional<tensor::Shape> element = std::nullopt;
  std::optional<int64_t> length = std::nullopt;
  bool is_unset = false;  // A list in which no tensor is set: the first one will decide the shape of all.

  bool is_static() const;  // Whether every size is known and the tensor is within kTensorBytesMax.
};

// Returns the numbers of a known int32 or int64 value of any rank, in order; nullopt if the value is unknown or of
// another type.
std::optional<std::vector<int64_t>> IntsIn(const Type& type);
// Like IntsIn, for scalars and vectors only.
std::optional<std::vector<int64_t>> VectorIn(const Type& type);

// Returns the type of input i; an unknown type if the node has no such input.
const Type& At(std::span<const Type> inputs, size_t i);

// The op of nodes that a pass replaced by values found in an inference. Later inferences still count these values
// against their limit.
inline constexpr std::string_view kKnown = "Known";

// The types of all outputs of a graph's nodes. A node about which nothing is known has an empty list.
class Types {
 public:
  explicit Types(size_t nodes) : of_(nodes) {}

  // Requires: `edge` is an edge of the graph.
  const Type& at(const Edge& edge) const;
  const std::vector<Type>& outputs(size_t node) const { return of_[node]; }
  void Set(size_t node, std::vector<Type> outputs) { of_[node] = std::move(outputs); }

 private:
  std::vector<std::vector<Type>> of_;
};

}  // namespace longshore::graph
