// What the ops of TensorLists and of TensorArrays do alike: elements put together to tensors, and tensors taken apart.
#pragma once

#include <vector>

#include "serving-node/engine/reference/kernels/kernel.h"
#include "serving-node/engine/reference/kernels/tensor_list.h"

namespace longshore::engine::reference::kernels {

// The list at an input of the call.
Result<const TensorList*> ListAt(const Call& call, size_t input);

// A shape as an input has it: -1 is unknown, alone or as a size.
Result<PartialShape> ShapeAt(const Call& call, size_t input);
// As an attribute has it. Unknown when it is absent.
PartialShape ShapeOf(const Call& call, const char* attribute);

// The list with the element set, which must be of its type and shape.
Result<TensorList> Put(const TensorList& list, int64_t at, const Tensor& element);

// The element, or zeros where nothing was set: then the shape must be known, from `shape`, the list or its elements.
Outputs ElementOf(const Call& call, const TensorList& list, int64_t at, const PartialShape& shape);

// The elements at the places, one after the other along a new first dimension.
Outputs StackOf(const Call& call, const TensorList& list, const std::vector<int64_t>& places,
                const PartialShape& shape);

// All elements, one after the other along the first dimension they have; and the size of each in it.
Outputs ConcatOf(const Call& call, const TensorList& list, const PartialShape& shape);

// Row i of the tensor becomes the element at places[i]; the list grows to what it needs when it may.
Result<TensorList> Scatter(TensorList list, const Tensor& rows, const std::vector<int64_t>& places);

// So many rows for each element of a list that is as long as there are lengths.
Result<TensorList> SplitInto(TensorList list, const Tensor& rows, const std::vector<int64_t>& lengths);

std::vector<int64_t> AllPlaces(const TensorList& list);

}  // namespace longshore::engine::reference::kernels
