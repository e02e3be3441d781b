// The names of element types in the Open Inference Protocol.
#pragma once

#include <optional>
#include <string_view>

#include "inference/model_config.pb.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::frontend::oip::codec {

// Returns the protocol's name of a type, such as "FP32"; "" for a type without a name there, such as DT_COMPLEX64.
std::string_view DatatypeName(tensor::DType type);

// Returns the type that has this name; nullopt if the protocol does not have the name.
std::optional<tensor::DType> DatatypeOf(std::string_view name);

// Returns the value that stands for the type in a model's configuration (ModelConfig); TYPE_INVALID for a type without
// such a value.
::inference::DataType ConfigTypeOf(tensor::DType type);

}  // namespace longshore::frontend::oip::codec
