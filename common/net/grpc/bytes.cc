#include "common/net/grpc/bytes.h"

#include <vector>

namespace longshore::rpc {

std::string ToBytes(const ::grpc::ByteBuffer& buffer) {
  if (::grpc::Slice all; buffer.Valid() && buffer.TrySingleSlice(&all).ok()) {
    return {reinterpret_cast<const char*>(all.begin()), all.size()};
  }
  std::vector<::grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const auto& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

::grpc::ByteBuffer ToByteBuffer(std::string_view bytes) {
  const ::grpc::Slice slice(bytes.data(), bytes.size());
  return ::grpc::ByteBuffer(&slice, 1);
}

}  // namespace longshore::rpc
