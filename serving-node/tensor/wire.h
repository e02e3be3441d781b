// Reads and writes TensorProto directly from and to the wire format of Protocol Buffers
// (https://protobuf.dev/programming-guides/encoding). Generated code would copy each large tensor once more in each
// direction. What the reader does not expect, such as fields in another order, it leaves to generated code, so both
// accept the same messages.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "common/base/pieces.h"
#include "common/binary_proto/binary_proto.h"
#include "serving-node/tensor/proto.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::tensor {

// A TensorProto of which only the type and the shape have been read.
class WireTensor {
 public:
  // Reads the bytes [begin, begin + size) of `pieces`, which must outlive the result. Returns nullopt if they are not a
  // TensorProto.
  static std::optional<WireTensor> Open(const Pieces& pieces, size_t begin, size_t size);

  // The number of elements; nullopt if the shape is not valid.
  std::optional<int64_t> elements() const;

  // Returns the tensor. Errors are those of FromProto.
  Result<Tensor> Read(size_t filled_bytes_max) const;

 private:
  WireTensor(const Pieces& pieces, size_t begin, size_t size) : pieces_(&pieces), begin_(begin), size_(size) {}
  bool OpenExpected();
  bool ReadShape(google::protobuf::io::CodedInputStream* in);
  std::optional<Tensor> ReadExpected() const;

  const Pieces* pieces_;
  size_t begin_;
  size_t size_;
  DType type_ = DType::kInvalid;
  Shape shape_;
  size_t values_begin_ = 0;  // Where the values begin: tensor_content, a packed field, or the first string_val.
  size_t values_size_ = 0;
  bool is_content_ = false;
  std::shared_ptr<const tensorflow::TensorProto> generated_;  // Set if generated code had to read the message.
};

// Returns how many bytes AppendTo will append.
size_t WireBytes(const Tensor& tensor, Encoding encoding);
// Appends the TensorProto that ToProto makes of the tensor. Refers to large buffers instead of copying them. Requires:
// the tensor is in CPU memory.
void AppendTo(const Tensor& tensor, Encoding encoding, PiecesBuilder* out);

// For messages that contain tensors: appends a varint, and returns its number of bytes.
void AppendVarint(uint64_t value, std::string* out);
size_t VarintBytes(uint64_t value);

}  // namespace longshore::tensor
