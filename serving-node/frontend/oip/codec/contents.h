// InferTensorContents, the typed elements of an input, read directly from the wire format of Protocol Buffers
// (https://protobuf.dev/programming-guides/encoding).
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <array>
#include <cstdint>

#include "common/base/error.h"
#include "inference/service.pb.h"
#include "serving-node/frontend/oip/codec/raw.h"

namespace longshore::frontend::oip::codec {

// Reads the next tag; it is 0 at the end of the message. Returns false if the bytes there are not a tag as serializers
// write it.
bool ReadTag(google::protobuf::io::CodedInputStream* in, uint32_t* tag);
// Reads the length before a string or a message. Returns false if it is not a length as serializers write it, or if
// fewer bytes follow.
bool ReadSize(google::protobuf::io::CodedInputStream* in, int* size);

// How many elements each field has, by the number of the field.
using ElementCounts = std::array<int64_t, ::inference::InferTensorContents::kBytesContentsFieldNumber + 1>;

// Counts the elements of an InferTensorContents, which ends at the limit of the stream, without memory for them.
// Returns false if the bytes are not an InferTensorContents as serializers write it.
bool CountElements(google::protobuf::io::CodedInputStream* in, ElementCounts* counts);

// The typed contents of an input: their position in the request, and their elements.
struct Contents {
  Span at;
  ElementCounts counts{};
};

// Reads an input from its typed contents; without contents it has no elements. InvalidArgument if they are in another
// field than the one for the datatype, if their number is not that of the shape, or if an element does not fit into the
// datatype; ResourceExhausted if the budget does not suffice. The number is checked before memory is allocated, so the
// tensor takes at most 16 times the memory of its bytes: a string of 32 bytes in memory has at least two bytes there.
Result<tensor::Tensor> FromContents(const InputHead& head, const Pieces& bytes, const Contents& contents,
                                    ElementBudget* budget);

}  // namespace longshore::frontend::oip::codec
