// tf.Example messages taken apart into tensors, as tf.io.parse_example writes it.
//
// A dense feature has the same shape in every example; one whose shape begins with -1 is as long as the longest of the
// batch and padded with its default. A sparse feature becomes indices, values and a shape; a ragged one values and row
// splits.
#pragma once

#include "serving-node/engine/reference/kernels/kernel.h"

namespace longshore::engine::reference::kernels {

// Feature types are float, int64 and string.
struct Dense {
  std::string key;
  DType type = DType::kInvalid;
  Shape shape{};  // Of one example, without a leading -1.
  bool is_variable = false;
  Tensor absent{};  // Fills in for what an example lacks; without elements where the feature is required.
};

struct Listed {  // A sparse or a ragged feature.
  std::string key;
  DType type = DType::kInvalid;
  DType splits = DType::kInt64;
};

struct Spec {
  std::vector<Listed> sparse;
  std::vector<Dense> dense;
  std::vector<Listed> ragged;
};

// From serialized examples, the first input, a vector or one scalar: for all sparse features the indices [n, 2], then
// their values [n], then their shapes [2]; the dense tensors [examples, ...]; the ragged values [n], then their row
// splits [examples + 1]. InvalidArgument naming the feature and the example that does not fit.
Outputs ReadExamples(const Call& call, const Spec& spec);

}  // namespace longshore::engine::reference::kernels
