// Conversion of gRPC's status to an error. The namespace is rpc, because longshore::grpc would hide ::grpc.
#pragma once

#include <grpcpp/support/status.h>

#include "common/base/error.h"

namespace longshore::rpc {

// Requires: !status.ok().
Error FromGrpc(const ::grpc::Status& status);

}  // namespace longshore::rpc
