// One JSON value, nested lists of scalars, made into a TensorProto.
#pragma once

#include <cstdint>
#include <string>

#include "common/error.h"
#include "serving-node/frontend/json_reader.h"
#include "serving-node/tensor/tensor.h"
#include "tensorflow/tensor.pb.h"

namespace longshore::frontend {

// "float", "string": how TensorFlow's messages name a type.
std::string TypeName(tensor::DType type);

// Collects values of one type and shape, one after the other, into one tensor.
class TensorBuilder {
 public:
  // How much is to come, so that memory is taken once: what grows is held twice while it moves.
  struct Expected {
    size_t values = 1;      // Of the first one's size.
    size_t* elements_left;  // More elements are nowhere in the body; what is taken for some is not there for others.
  };
  TensorBuilder(tensor::DType type, Expected expected) : type_(type), expected_(expected) {}

  // Appends all elements of the value whose first event the reader stands on, and leaves it on the last. The shape must
  // be that of the first value.
  Status Append(JsonReader* reader);

  // The tensor of the single value that was appended.
  void MoveValueTo(tensorflow::TensorProto* proto);
  // The tensor of all values, stacked along a new first dimension.
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
  int64_t elements_ = 0;        // Of all values.
  int64_t elements_first_ = 0;  // Of the first one.
  tensor::Shape shape_;         // Of one value.
  std::string content_;         // The numbers, as the tensor has them in memory.
  tensorflow::TensorProto strings_;
};

}  // namespace longshore::frontend
