// Tensors as bytes: the elements row by row, little-endian. A BYTES element is its length, as a 32-bit number, and its
// bytes. https://github.com/kserve/open-inference-protocol (tensor data), extension_binary_data of Triton.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/base/pieces.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::frontend::oip::codec {

// What a request says about one of its inputs.
struct InputHead {
  std::string_view model;
  std::string name;
  tensor::DType type = tensor::DType::kInvalid;
  tensor::Shape shape{};
};

// Counts down the elements that the inputs of a request may still have.
class ElementBudget {
 public:
  explicit ElementBudget(int64_t elements_max) : max_(elements_max), left_(elements_max) {}

  // Takes the elements of an input, and returns their number. InvalidArgument if the shape is not valid;
  // ResourceExhausted if the inputs have too many elements together. For an empty input, also ResourceExhausted if
  // its shape would have too many elements with 1 in the place of each 0, because code may count a dimension, such as
  // the rows, before it finds that the rows are empty.
  Result<int64_t> Take(const InputHead& head);

 private:
  const int64_t max_;
  int64_t left_;
};

// Sets the type of the input. InvalidArgument if the protocol has no such datatype.
Status SetDatatype(std::string_view name, InputHead* head);

// The bytes [begin, begin + size) of a message.
struct Span {
  size_t begin = 0;
  size_t size = 0;
};

// Reads an input from a part of `bytes`. InvalidArgument if the part does not have the size that the shape and the type
// need, if a BYTES element is cut off, or if a BOOL element is neither 0 nor 1; ResourceExhausted if the budget does
// not suffice. Both are found before memory for the elements is allocated.
Result<tensor::Tensor> FromRaw(const InputHead& head, const Pieces& bytes, Span at, ElementBudget* budget);
// The same for bytes in one piece.
Result<tensor::Tensor> FromRaw(const InputHead& head, std::string_view bytes, ElementBudget* budget);

// Reads an input whose shape is a pattern from the body of a request that has no JSON (Raw Binary Request in
// extension_binary_data of Triton). The size of the body gives the one size that the pattern may leave open. BYTES have
// one element, the whole body, without a length. InvalidArgument and ResourceExhausted as in FromRaw, and
// InvalidArgument if the pattern leaves more open.
Result<tensor::Tensor> FromRawBody(InputHead head, std::string_view body, ElementBudget* budget);

// Requires: the type has a datatype, and the tensor is in CPU memory.
std::string ToRaw(const tensor::Tensor& tensor);

}  // namespace longshore::frontend::oip::codec
