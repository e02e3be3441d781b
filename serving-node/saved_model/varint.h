// Varints of protobuf and leveldb: seven bits per byte, the least significant ones first.
#pragma once

#include <cstdint>
#include <string_view>

namespace longshore::saved_model {

// Removes a varint of at most ten bytes from the front of `bytes`. Returns false if there is no valid one.
inline bool TakeVarint(std::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace longshore::saved_model
