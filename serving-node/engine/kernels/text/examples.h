// Parses tf.Example messages into tensors, like tf.io.parse_example.
//
// A dense feature has the same shape in every example. If its shape begins with -1, shorter examples are padded with
// its default to the length of the longest example of the batch. A sparse feature becomes indices, values and a shape;
// a ragged feature becomes values and row splits.
#pragma once

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::text {

// A dense feature. The types of features are DT_FLOAT, DT_INT64 and DT_STRING.
struct DenseFeature {
  std::string key;
  DType type = DType::kInvalid;
  Shape shape{};  // The shape of the feature in one example. A leading -1 is left out; is_variable is true instead.
  bool is_variable = false;
  // The values for examples without the feature, or the padding if is_variable. Empty if the feature is required.
  Tensor default_value{};
};

// A sparse or ragged feature. An example can have any number of values of it.
struct ListFeature {
  std::string key;
  DType type = DType::kInvalid;
  DType splits = DType::kInt64;
};

struct Spec {
  std::vector<ListFeature> sparse;
  std::vector<DenseFeature> dense;
  std::vector<ListFeature> ragged;
};

// Parses the serialized examples of the first input, a vector or a scalar of strings. Returns in this order: the
// indices [n, 2] of all sparse features, their values [n], their shapes [2], the dense tensors [examples, ...], the
// values [n] of all ragged features, and their row splits [examples + 1]. InvalidArgument, which names the feature and
// the example, if an example does not match the spec.
Outputs ReadExamples(const Call& call, const Spec& spec);

}  // namespace longshore::engine::kernels::text
