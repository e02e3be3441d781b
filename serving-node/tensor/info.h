// The shape that a signature states for an input or output.
#pragma once

#include <optional>

#include "serving-node/tensor/proto.h"
#include "tensorflow/saved_model.pb.h"

namespace longshore::tensor {

// The sizes of the shape, with -1 for each unknown one. nullopt if the rank is unknown; this also means a TensorInfo
// without a shape, which TensorFlow 1.0 exported. The graph may compute tensors of other shapes.
inline std::optional<Shape> PatternOf(const tensorflow::TensorInfo& info) {
  return info.has_tensor_shape() ? PatternFromProto(info.tensor_shape()) : std::nullopt;
}

// Whether the info states a shape whose first dimension may have any size.
inline bool HasOpenRows(const tensorflow::TensorInfo& info) {
  const auto& shape = info.tensor_shape();
  return !shape.unknown_rank() && shape.dim_size() > 0 && shape.dim(0).size() < 0;
}

}  // namespace longshore::tensor
