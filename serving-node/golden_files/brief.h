// Tensors as short texts for people.
#pragma once

#include <string>

#include "serving-node/engine/engine.h"

namespace longshore::golden_files {

// Returns the type, the shape and the first elements: `DT_FLOAT [1,8,8,1] 0 0 5 13 9 1 ...`. Scores have their largest
// column: `DT_FLOAT [1,10] 0.01 0.02 ...; largest in column 7: 0.9`.
std::string Brief(const tensor::Tensor& values);
// Returns one line for each tensor, with `indent` in front: `      image DT_FLOAT [1,8,8,1] 0 0 5 ...`.
std::string Brief(const engine::TensorMap& tensors, std::string_view indent);

}  // namespace longshore::golden_files
