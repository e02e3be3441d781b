// One JSON value, nested lists of scalars, made into a TensorProto.
#pragma once

#define RAPIDJSON_HAS_STDSTRING 1
#include <rapidjson/document.h>

#include <string>

#include "common/error.h"
#include "serving-node/tensor/tensor.h"
#include "tensorflow/tensor.pb.h"

namespace longshore::frontend {

// The value as text for an error message, at most 256 bytes of it.
std::string ForMessage(const rapidjson::Value& value);

// "float", "string": how TensorFlow's messages name a type.
std::string TypeName(tensor::DType type);

// {"b64": "..."}: bytes of a string tensor.
bool IsBase64Object(const rapidjson::Value& value);

// Collects values of one type and shape, one after the other, into one tensor.
class TensorBuilder {
 public:
  explicit TensorBuilder(tensor::DType type) : type_(type) {}

  // Appends all elements of the value. Its shape must be the first one's.
  Status Append(const rapidjson::Value& value);

  // The tensor of the single value that was appended.
  void MoveValueTo(tensorflow::TensorProto* proto);
  // The tensor of all values, stacked along a new first dimension.
  void MoveRowsTo(tensorflow::TensorProto* proto);

 private:
  Status AppendList(const rapidjson::Value& value, size_t level, const tensor::Shape& shape);
  Status AppendScalar(const rapidjson::Value& value);
  Status AppendBytes(const rapidjson::Value& value);
  void MoveTo(const tensor::Shape& shape, tensorflow::TensorProto* proto);

  const tensor::DType type_;
  int64_t values_ = 0;
  int64_t elements_ = 0;        // Of all values.
  int64_t elements_first_ = 0;  // Of the first one.
  tensor::Shape shape_;         // Of one value.
  std::string content_;         // The numbers, as the tensor has them in memory.
  tensorflow::TensorProto strings_;
};

}  // namespace longshore::frontend
