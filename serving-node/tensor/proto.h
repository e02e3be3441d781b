// Converts tensors from and to TensorProto, their form on the wire and in graphs.
#pragma once

#include <optional>

#include "common/base/error.h"
#include "serving-node/tensor/tensor.h"
#include "tensorflow/tensor.pb.h"

namespace longshore::tensor {

// FromProto repeats the last value for the elements that a proto does not contain. The constants limit the memory in
// bytes for these elements. kFilledBytesMaxForConstants is for the constants of models, where one value may fill a
// large tensor.
inline constexpr size_t kFilledBytesMaxForConstants = size_t{1} << 30;
// The limit for requests of clients: a small request must not cost much memory.
inline constexpr size_t kFilledBytesMaxForRequests = size_t{32} << 10;

// Reads a tensor. The elements come from tensor_content or from the field of the type (float_val ...). That field may
// have fewer values than the shape: then the last one repeats, and without values all elements are zero.
// InvalidArgument for an unknown type, a shape of unknown rank or with negative sizes, too many values, content of
// another length, a bool that is neither 0 nor 1, or if the elements to fill in would take more than filled_bytes_max.
// This limit is checked before any memory is allocated.
Result<Tensor> FromProto(const tensorflow::TensorProto& proto, size_t filled_bytes_max = kFilledBytesMaxForConstants);

enum class Encoding { kTypedFields, kContent };

// Writes the tensor into `proto` and replaces its previous contents. Strings and types without a fixed size always use
// the typed field. Requires: the tensor is in CPU memory and has values.
void ToProto(const Tensor& tensor, tensorflow::TensorProto* proto, Encoding encoding = Encoding::kTypedFields);

// The sizes of the shape, with -1 for each unknown one; nullopt if the rank is unknown.
std::optional<Shape> PatternFromProto(const tensorflow::TensorShapeProto& proto);
void ShapeToProto(const Shape& shape, tensorflow::TensorShapeProto* proto);

// True if the shape matches the pattern of PatternFromProto.
bool Matches(const Shape& shape, const std::optional<Shape>& pattern);

// Returns a text such as "[-1,784]", or "<unknown rank>".
std::string ToString(const std::optional<Shape>& pattern);

inline DType FromProto(tensorflow::DataType type) { return static_cast<DType>(type); }
inline tensorflow::DataType ToProto(DType type) { return static_cast<tensorflow::DataType>(type); }

}  // namespace longshore::tensor
