// Conversion of errors to gRPC's status and back. The namespace is rpc, because longshore::grpc would hide ::grpc.
#pragma once

#include <grpcpp/support/status.h>

#include "common/base/error.h"

namespace longshore::rpc {

// A longer error message is cut to this length, and then "...TRUNCATED" is appended, because gRPC sends messages in
// HTTP/2 headers.
inline constexpr size_t kMessageBytesMax = 1024;

::grpc::Status ToGrpc(const Error& error);
::grpc::Status ToGrpc(const Status& status);

// Requires: !status.ok().
Error FromGrpc(const ::grpc::Status& status);

}  // namespace longshore::rpc
