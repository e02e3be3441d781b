// Operations that TensorList ops and TensorArray ops share: stack, concatenate, scatter and split.
#pragma once

#include <vector>

#include "serving-node/engine/kernels/base/kernel.h"
#include "serving-node/engine/kernels/base/tensor_list.h"

namespace longshore::engine::kernels::control {

// Returns the list in the given input of the call; InvalidArgument if the input is not a list.
Result<const TensorList*> ListAt(const Call& call, size_t input);

// Reads a shape from an input: -1 means an unknown size, and the scalar -1 an unknown rank.
Result<PartialShape> ShapeAt(const Call& call, size_t input);
// Reads a shape from an attribute. Returns an unknown shape if the attribute is absent.
PartialShape ShapeOf(const Call& call, const char* attribute);

// Returns the list with the element at index `at` replaced; InvalidArgument if the type or shape of `element`
// contradicts that of the list.
Result<TensorList> Put(const TensorList& list, int64_t at, const Tensor& element);

// Returns the element at index `at`, or zeros if it was never set. Zeros need a complete shape, which comes from
// `shape`, from the list, or from the list's other elements; otherwise returns InvalidArgument.
Outputs ElementOf(const Call& call, const TensorList& list, int64_t at, const PartialShape& shape);

// Stacks the elements at the indices `places` along a new first dimension.
Outputs StackOf(const Call& call, const TensorList& list, const std::vector<int64_t>& places,
                const PartialShape& shape);

// Concatenates all elements along their first dimension. The second output has the first dimension of each element.
Outputs ConcatOf(const Call& call, const TensorList& list, const PartialShape& shape);

// Sets the element at places[i] to row i of `rows`. Enlarges the list as needed if it may grow.
Result<TensorList> Scatter(TensorList list, const Tensor& rows, const std::vector<int64_t>& places);

// Element i becomes the next lengths[i] rows of `rows`. The result has as many elements as `lengths`.
Result<TensorList> SplitInto(TensorList list, const Tensor& rows, const std::vector<int64_t>& lengths);

// The indices of all elements: 0, 1, ..., size - 1.
std::vector<int64_t> AllPlaces(const TensorList& list);

}  // namespace longshore::engine::kernels::control
