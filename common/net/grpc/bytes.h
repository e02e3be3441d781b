// Messages as bytes, for requests and answers that gRPC need not parse. The bytes are not copied.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "common/base/pieces.h"

namespace longshore::rpc {

// Returns no bytes for a buffer without a message.
Pieces ToPieces(const ::grpc::ByteBuffer& buffer);
::grpc::ByteBuffer ToByteBuffer(const Pieces& bytes);

}  // namespace longshore::rpc
