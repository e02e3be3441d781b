// A gRPC server (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md) over common/net/http2.
//
//   auto service = std::make_shared<Service>();
//   service->Add("/test.Echo/Say", {.handler = Say});
//   auto server = grpc_server::Start({.address = "127.0.0.1:0"}, service);
//
// Messages may be compressed with gzip or deflate; answers are not compressed, like those of gRPC C++ by default.
// Errors before the first message are answered at once, without the rest of the body. gRPC's codes for wrong requests:
// a wrong head UNKNOWN, a wrong grpc-timeout or wrongly framed message INTERNAL, none or several messages in a unary
// call and an unknown method or compression UNIMPLEMENTED, too large headers or messages RESOURCE_EXHAUSTED. Requests
// of another method than POST get the HTTP status 405, and those of another content-type 415.
#pragma once

#include <memory>

#include "common/net/grpc_server/service.h"
#include "common/net/http2/server.h"

namespace longshore::grpc_server {

// Returns the same errors as http2::Server::Start.
Result<std::unique_ptr<http2::Server>> Start(http2::Options options, std::shared_ptr<const Service> service);

}  // namespace longshore::grpc_server
