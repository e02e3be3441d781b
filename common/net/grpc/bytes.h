// Messages as bytes, for requests and answers that are forwarded unchanged.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <string_view>

namespace longshore::rpc {

// Returns "" for a buffer without a message.
std::string ToBytes(const ::grpc::ByteBuffer& buffer);
::grpc::ByteBuffer ToByteBuffer(std::string_view bytes);

}  // namespace longshore::rpc
