// Reads the binary format of Protocol Buffers (https://protobuf.dev/programming-guides/encoding) from pieces of memory.
//
// Protocol Buffers 3.21 trust a stated length: they reserve up to 50 MB for a string whose bytes do not follow, unless
// a limit contradicts. The classes and functions here take memory only for bytes that are there.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/pieces.h"

namespace longshore {

// The bytes [begin, begin + size) of `pieces`, which must outlive the stream.
class PiecesStream final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  PiecesStream(const Pieces& pieces, size_t begin, size_t size);
  explicit PiecesStream(const Pieces& pieces) : PiecesStream(pieces, 0, pieces.size()) {}

  bool Next(const void** data, int* size) override;
  void BackUp(int count) override;
  bool Skip(int count) override;
  int64_t ByteCount() const override { return static_cast<int64_t>(read_); }

 private:
  const Pieces& pieces_;
  size_t piece_ = 0;     // The piece that has the next byte.
  size_t in_piece_ = 0;  // The position of that byte in the piece.
  size_t left_;          // How many bytes follow.
  size_t read_ = 0;
};

// Reads field by field. The input has a limit, which contradicts a length that is too large.
class PiecesReader {
 public:
  PiecesReader(const Pieces& pieces, size_t begin, size_t size);
  explicit PiecesReader(const Pieces& pieces) : PiecesReader(pieces, 0, pieces.size()) {}

  google::protobuf::io::CodedInputStream& in() { return in_; }

 private:
  PiecesStream stream_;
  google::protobuf::io::CodedInputStream in_;
};

// Parses a message by generated code, up to the first field that does not end inside the message that contains it.
// Returns false if there is such a field, if the bytes are not such a message for another reason, or if they are 2 GiB
// or more. The message then has the fields that were read.
bool ParseBinaryProto(std::string_view bytes, google::protobuf::Message* message);
bool ParseBinaryProto(const Pieces& pieces, size_t begin, size_t size, google::protobuf::Message* message);
bool ParseBinaryProto(const Pieces& pieces, google::protobuf::Message* message);

}  // namespace longshore
