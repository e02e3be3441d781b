#include "common/net/grpc_server/server.h"

#include <utility>

#include "common/net/grpc_server/call.h"

namespace longshore::grpc_server {

Result<std::unique_ptr<http2::Server>> Start(http2::Options options, std::shared_ptr<const Service> service) {
  return http2::Server::Start(std::move(options),
                              [service = std::move(service)](const std::shared_ptr<const http2::Peer>& peer) {
                                return std::make_shared<Call>(service, peer);
                              });
}

}  // namespace longshore::grpc_server
