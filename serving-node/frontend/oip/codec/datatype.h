// The names of element types in the Open Inference Protocol.
#pragma once

#include <optional>
#include <string_view>

#include "inference/model_config.pb.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::frontend::oip::codec {

// Returns the name, such as "FP32"; "" for a type that the protocol does not have, such as DT_COMPLEX64.
std::string_view DatatypeName(tensor::DType type);

// Returns the type with this name; nullopt if there is none.
std::optional<tensor::DType> DatatypeOf(std::string_view name);

// Returns the type in a model's configuration; TYPE_INVALID for a type that the protocol does not have.
::inference::DataType ConfigTypeOf(tensor::DType type);

}  // namespace longshore::frontend::oip::codec
