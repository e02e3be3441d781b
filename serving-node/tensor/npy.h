// Arrays in numpy's file format (.npy, versions 1 and 2): reads what numpy.save("x.npy", x) writes, and writes what
// numpy.load("y.npy") reads.
//
// Supports little-endian numbers and bools in C order, and texts of a fixed size: "S" as bytes, "U" as UTF-8.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::tensor {

// Parses a .npy file. InvalidArgument for files of another format and for unsupported arrays; the message says what to
// save instead. DataLoss if the file has too few or too many bytes.
Result<Tensor> ParseNpy(std::string_view bytes);

// The type in which ToNpy writes a tensor: the plain integer for quantised integers (DT_INT8 for DT_QINT8), because
// numpy has no quantised types; otherwise `type` itself.
DType TypeInNpy(DType type);

// Writes strings as "S" with the length of the longest one, and numbers in the type that TypeInNpy returns.
// Unimplemented for types that numpy does not have, and for strings that end with a zero byte, which "S" would lose.
// Requires: the tensor is in CPU memory.
Result<std::string> ToNpy(const Tensor& tensor);

}  // namespace longshore::tensor
