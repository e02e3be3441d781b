// Parses tf.Example messages into tensors, like tf.io.parse_example.
//
// A dense feature has the same shape in every example, unless its shape begins with -1: then it is padded with its
// default to the longest example of the batch. A sparse feature becomes indices, values and a shape; a ragged feature
// becomes values and row splits.
#pragma once

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::text {

// Feature types are float, int64 and string.
struct DenseFeature {
  std::string key;
  DType type = DType::kInvalid;
  Shape shape{};  // The shape of one example, without a leading -1.
  bool is_variable = false;
  Tensor default_value{};  // The default for examples without the feature; empty if the feature is required.
};

struct ListFeature {  // A sparse or a ragged feature: any number of values per example.
  std::string key;
  DType type = DType::kInvalid;
  DType splits = DType::kInt64;
};

struct Spec {
  std::vector<ListFeature> sparse;
  std::vector<DenseFeature> dense;
  std::vector<ListFeature> ragged;
};

// Parses the serialized examples of the first input, a vector or a scalar of strings. Returns, in this order: for all
// sparse features the indices [n, 2], then their values [n], then their shapes [2]; the dense tensors [examples, ...];
// the ragged values [n], then their row splits [examples + 1]. InvalidArgument, naming the feature and the example, for
// an example that does not match the spec.
Outputs ReadExamples(const Call& call, const Spec& spec);

}  // namespace longshore::engine::kernels::text
