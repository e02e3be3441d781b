// Arrays as numpy keeps them in files (.npy, versions 1 and 2): numpy.save("x.npy", x) and numpy.load("y.npy").
//
// Numbers and bools, little-endian and in C order; texts of a fixed size: "S" as they are, "U" as UTF-8.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <string>
#include <string_view>

#include "common/error.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::tensor {

// InvalidArgument for what is no such array: the message says what to save instead. DataLoss when bytes are missing or
// too many.
Result<Tensor> ParseNpy(std::string_view bytes);

// The type that an array of such a tensor's elements has: DT_INT8 for DT_QINT8, and so for all of quantised models,
// which numpy has no types for. All others as they are.
DType TypeInNpy(DType type);

// Strings become "S" of the longest one, others are of TypeInNpy. Unimplemented for types that numpy has none for, and
// for a text that ends in a zero byte, which "S" would lose. Requires: the tensor lies in CPU memory.
Result<std::string> ToNpy(const Tensor& tensor);

}  // namespace longshore::tensor
