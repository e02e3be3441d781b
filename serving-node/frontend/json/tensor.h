// Converts a JSON value (a scalar or nested lists of scalars) into a tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "serving-node/frontend/json/reader.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::frontend::json {

// Returns a tensor that takes over the numbers, which have the memory layout of a tensor. Requires: there are as many
// numbers as the shape has elements.
tensor::Tensor TensorOf(tensor::DType type, tensor::Shape shape, std::string numbers);

// Collects values of the same type and shape into one tensor.
class TensorBuilder {
 public:
  // The expected size. With it, memory is allocated once, whereas growing needs twice the memory for a moment.
  struct Expected {
    size_t values = 1;  // How many values follow, each with as many elements as the first.
    // How many elements of the body no tensor has reserved yet. A tensor that reserves elements reduces the number.
    size_t* elements_left;
  };
  TensorBuilder(tensor::DType type, Expected expected) : type_(type), expected_(expected) {}

  // Appends all elements of a value. Requires that the reader is on the first event of the value, and leaves it on the
  // last one. InvalidArgument if the shape differs from that of the first value.
  Status Append(JsonReader* reader);

  // Returns the tensor of the only appended value. InvalidArgument if its rank exceeds kRankMax.
  Result<tensor::Tensor> TakeValue();
  // Returns the tensor of all values, stacked along a new first dimension. InvalidArgument if its rank exceeds
  // kRankMax.
  Result<tensor::Tensor> TakeRows();

 private:
  void Reserve(const tensor::Shape& shape);
  Status AppendAll(JsonReader* reader, const tensor::Shape& shape);
  Status AppendElement(JsonReader* reader);
  Status AppendBytes(JsonReader* reader);
  Result<tensor::Tensor> Take(const tensor::Shape& shape);

  const tensor::DType type_;
  const Expected expected_;
  int64_t values_ = 0;
  int64_t elements_ = 0;        // How many elements all values have.
  int64_t elements_first_ = 0;  // How many elements the first value has.
  tensor::Shape shape_;         // The shape of one value.
  std::string content_;         // The numbers in the memory layout of the tensor.
  std::vector<std::string> strings_;
};

}  // namespace longshore::frontend::json
