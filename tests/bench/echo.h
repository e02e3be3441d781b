// The servers that the serving benchmark compares the node with: they read the requests that the node would get and
// send their content back.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "common/base/error.h"

namespace longshore::bench {

// Runs on threads of its own until it is destroyed.
class Echo {
 public:
  virtual ~Echo() = default;
  virtual int port() const = 0;
};

// PredictionService over gRPC's callback API; each input comes back as an output. Listens on 127.0.0.1.
std::unique_ptr<Echo> StartCallbackEcho(
    std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials());

// The same service over one completion queue and one thread.
std::unique_ptr<Echo> StartQueueEcho();

// HTTP/1.1 over Boost.Beast on one thread; the answer has the body of the request. Unavailable if it cannot listen on a
// port.
Result<std::unique_ptr<Echo>> StartRestEcho();

}  // namespace longshore::bench
