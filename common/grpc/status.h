// Errors on the wire of gRPC. The namespace is rpc, because longshore::grpc would hide ::grpc.
#pragma once

#include <grpcpp/support/status.h>

#include "common/error.h"

namespace longshore::rpc {

// Longer texts are cut to this many characters and end in "...TRUNCATED": they travel in HTTP/2 headers.
inline constexpr size_t kMessageBytesMax = 1024;

::grpc::Status ToGrpc(const Error& error);
::grpc::Status ToGrpc(const Status& status);

// Requires: !status.ok().
Error FromGrpc(const ::grpc::Status& status);

}  // namespace longshore::rpc
