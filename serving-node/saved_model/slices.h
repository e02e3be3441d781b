// Parts of tensors: how a partitioned variable lies in a TensorBundle, and how RestoreV2 asks for a part of one.
#pragma once

#include <string>
#include <string_view>

#include "common/error.h"
#include "serving-node/tensor/tensor.h"
#include "tensorflow/tensor_bundle.pb.h"

namespace longshore::saved_model {

// From starts[i], sizes[i] of dimension i.
struct Slice {
  tensor::Shape starts;
  tensor::Shape sizes;

  friend bool operator==(const Slice&, const Slice&) = default;
};

Slice WholeOf(const tensor::Shape& shape);

// Whether an element lies in both. Requires: both are places in the same tensor.
bool HaveCommon(const Slice& a, const Slice& b);

// InvalidArgument when it does not lie within a tensor of the shape.
Result<Slice> SliceFromProto(const tensorflow::TensorSliceProto& proto, const tensor::Shape& whole);

// A part of a tensor whose shape the asker states.
struct SliceSpec {
  tensor::Shape whole;
  Slice part;

  friend bool operator==(const SliceSpec&, const SliceSpec&) = default;
};

// "10 4 0,5:-" is the first five rows of a tensor [10,4]: its shape, then for each dimension where the part starts and
// its size, or "-" for all of it. InvalidArgument when the text is not so, or the part does not lie within the shape.
Result<SliceSpec> ParseSlice(std::string_view text);

// Under which key the index has the part of the tensor: bytes that sort as the names and numbers do.
std::string SliceKey(std::string_view name, const tensorflow::TensorSliceProto& slice);

// Whether the index has a part of a tensor under the key, and not a tensor.
bool IsSliceKey(std::string_view key);

// Copies what the two places have in common. Requires: both are places in the same tensor, `from` and `to` have their
// sizes and one type.
void CopyCommon(const tensor::Tensor& from, const Slice& from_place, const Slice& to_place, tensor::Tensor* to);

}  // namespace longshore::saved_model
