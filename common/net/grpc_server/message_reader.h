// Splits the body of a call into messages: each has a byte of flags, its size in 4 bytes, and its bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "common/base/error.h"
#include "common/base/pieces.h"
#include "common/net/http/held_bytes.h"

namespace longshore::grpc_server {

struct ReceivedMessage {
  bool is_compressed = false;
  Pieces bytes = {};
};

// Returns the 5 bytes in front of a message that is not compressed.
inline std::array<char, 5> MessagePrefix(size_t bytes) {
  return {0, static_cast<char>(bytes >> 24), static_cast<char>(bytes >> 16), static_cast<char>(bytes >> 8),
          static_cast<char>(bytes)};
}

// Not thread-safe.
class MessageReader {
 public:
  // Takes bytes from the front of `bytes`, at most to the end of a message. Returns the message if it is complete.
  // `owner` keeps the bytes alive; null: they are copied. Returns ResourceExhausted if a message has more than
  // bytes_max bytes, before its bytes are taken, and Internal if its flags are unknown.
  Result<std::optional<ReceivedMessage>> Take(std::string_view& bytes, const std::shared_ptr<const void>& owner,
                                              size_t bytes_max);
  // Whether no message has begun.
  bool is_between_messages() const { return prefix_size_ == 0; }

 private:
  Status TakePrefix(std::string_view& bytes, size_t bytes_max);

  static constexpr size_t kPrefixBytes = 5;
  static constexpr size_t kReservedBytesMax = size_t{64} << 10;  // Before the bytes of a message have arrived.

  std::array<uint8_t, kPrefixBytes> prefix_{};
  size_t prefix_size_ = 0;
  size_t missing_ = 0;  // Bytes of the message.
  PiecesBuilder message_;
};

// Returns the bytes of a message that was compressed with gzip or deflate. They are taken from the pool as long as they
// are kept. Returns ResourceExhausted if they are more than bytes_max, or if the pool has too few left, and Internal if
// the message is damaged.
Result<Pieces> Decompress(const Pieces& message, size_t bytes_max, const std::shared_ptr<http::BytePool>& pool);

}  // namespace longshore::grpc_server
