// Converts a JSON value (a scalar or nested lists of scalars) into a TensorProto.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "serving-node/frontend/json/reader.h"
#include "serving-node/tensor/tensor.h"
#include "tensorflow/tensor.pb.h"

namespace longshore::frontend::json {

// "float", "string": how TensorFlow's messages name a type.
std::string TypeName(tensor::DType type);

// Collects values of the same type and shape into one tensor.
class TensorBuilder {
 public:
  // The expected size, so that memory is allocated once: growing needs twice the memory for a moment.
  struct Expected {
    size_t values = 1;      // Number of values; all have as many elements as the first one.
    size_t* elements_left;  // Elements of the body that no tensor has reserved yet; reserving reduces it.
  };
  TensorBuilder(tensor::DType type, Expected expected) : type_(type), expected_(expected) {}

  // Appends all elements of the value whose first event the reader is on; leaves the reader on its last event.
  // InvalidArgument if the shape differs from that of the first value.
  Status Append(JsonReader* reader);

  // Moves out the tensor of the single appended value.
  void MoveValueTo(tensorflow::TensorProto* proto);
  // Moves out the tensor of all values, stacked along a new first dimension.
  void MoveRowsTo(tensorflow::TensorProto* proto);

 private:
  void Reserve(const tensor::Shape& shape);
  Status AppendAll(JsonReader* reader, const tensor::Shape& shape);
  Status AppendElement(JsonReader* reader);
  Status AppendBytes(JsonReader* reader);
  void MoveTo(const tensor::Shape& shape, tensorflow::TensorProto* proto);

  const tensor::DType type_;
  const Expected expected_;
  int64_t values_ = 0;
  int64_t elements_ = 0;        // In all values.
  int64_t elements_first_ = 0;  // In the first value.
  tensor::Shape shape_;         // The shape of one value.
  std::string content_;         // The numbers in the memory layout of the tensor.
  tensorflow::TensorProto strings_;
};

}  // namespace longshore::frontend::json
