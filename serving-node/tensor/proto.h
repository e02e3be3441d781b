// Tensors from and to TensorProto, the form they have on the wire and in graphs.
#pragma once

#include <optional>

#include "common/error.h"
#include "serving-node/tensor/tensor.h"
#include "tensorflow/tensor.pb.h"

namespace longshore::tensor {

// What values that a proto does not hold may take of memory: a constant of a model may be large and hold one value.
inline constexpr size_t kFilledBytesOfConstants = size_t{1} << 30;
// Of a client's request: a few bytes must not cost much more than they are.
inline constexpr size_t kFilledBytesOfRequests = size_t{32} << 10;

// The tensor. The elements come from tensor_content or from the field of the type (float_val ...); of the latter there
// may be fewer than the shape says: the last one repeats, and without any all are zero. InvalidArgument for an unknown
// type, a shape of unknown or negative size, too many elements, content of another length, a bool that is neither 0
// nor 1, or values to be filled in that would take more than filled_bytes_max: found before memory is taken for them.
Result<Tensor> FromProto(const tensorflow::TensorProto& proto, size_t filled_bytes_max = kFilledBytesOfConstants);

enum class Encoding { kTypedFields, kContent };

// Into `proto`, replacing what it held. Strings and types without fixed size always go to the typed field.
// Requires: the tensor lies in CPU memory and holds values.
void ToProto(const Tensor& tensor, tensorflow::TensorProto* proto, Encoding encoding = Encoding::kTypedFields);

// A pattern of sizes, -1 for an unknown one; nullopt when not even the rank is known.
std::optional<Shape> PatternFromProto(const tensorflow::TensorShapeProto& proto);
void ShapeToProto(const Shape& shape, tensorflow::TensorShapeProto* proto);

// Whether the shape fits the pattern.
bool Matches(const Shape& shape, const std::optional<Shape>& pattern);

// "[-1,784]", or "<unknown rank>".
std::string ToString(const std::optional<Shape>& pattern);

inline DType FromProto(tensorflow::DataType type) { return static_cast<DType>(type); }
inline tensorflow::DataType ToProto(DType type) { return static_cast<tensorflow::DataType>(type); }

}  // namespace longshore::tensor
