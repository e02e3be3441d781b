// Parts of tensors: how a TensorBundle stores partitioned variables, and how RestoreV2 requests parts.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"
#include "serving-node/tensor/tensor.h"
#include "tensorflow/tensor_bundle.pb.h"

namespace longshore::saved_model {

// A part of a tensor: the elements [starts[i], starts[i] + sizes[i]) of each dimension i.
struct Slice {
  tensor::Shape starts;
  tensor::Shape sizes;

  friend bool operator==(const Slice&, const Slice&) = default;
};

// The slice that is the whole tensor.
Slice WholeOf(const tensor::Shape& shape);

// True if both slices have an element in common. Requires: both are slices of the same tensor.
bool Overlap(const Slice& a, const Slice& b);

// Converts the proto to a slice. InvalidArgument if the slice is not within a tensor of the shape `whole`.
Result<Slice> SliceFromProto(const tensorflow::TensorSliceProto& proto, const tensor::Shape& whole);

// A part of a tensor, with the shape that the requester expects of the whole tensor.
struct SliceSpec {
  tensor::Shape whole;
  Slice part;

  friend bool operator==(const SliceSpec&, const SliceSpec&) = default;
};

// Parses a request such as "10 4 0,5:-", which stands for the first five rows of a tensor [10,4]. The text has the
// shape, then for each dimension the start and the size of the part, or "-" for the whole dimension. InvalidArgument if
// the text is not valid, or if the part is not within the shape.
Result<SliceSpec> ParseSlice(std::string_view text);

// The key of a part in the index. Keys sort by the name of the tensor, then by the starts and sizes of the slice.
std::string SliceKey(std::string_view name, const tensorflow::TensorSliceProto& slice);

// True if the key is that of a part of a tensor, false if it is the name of a tensor.
bool IsSliceKey(std::string_view key);

// Copies the elements that both places have in common. Requires: both places are slices of the same tensor; `from` and
// `to` have the sizes of their places, and the same type.
void CopyOverlap(const tensor::Tensor& from, const Slice& from_place, const Slice& to_place, tensor::Tensor* to);

}  // namespace longshore::saved_model
