// What is known about a graph's tensors before it runs: element types, shapes, and the values of tensors that depend
// only on constants and shapes. infer_types.h finds it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "serving-node/graph/graph.h"
#include "serving-node/tensor/tensor.h"

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

  // Requires: `edge` is an edge of the graph.
  const Type& at(const Edge& edge) const;
  const std::vector<Type>& outputs(size_t node) const { return of_[node]; }
  void Set(size_t node, std::vector<Type> outputs) { of_[node] = std::move(outputs); }

 private:
  std::vector<std::vector<Type>> of_;
};

}  // namespace longshore::graph
