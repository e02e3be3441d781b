// For tests of commands: a fake API server, and the cluster that a command reaches it as.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/net/http/server.h"
#include "controller/kube/cluster.h"

namespace longshore::cli {

class FakeCluster {
 public:
  // `answer` runs on a thread of the server.
  explicit FakeCluster(std::function<http::Response(const http::Request&)> answer)
      : server_(http::Server::Start({.address = "127.0.0.1:0"}, [answer = std::move(answer)](
                                                                    const http::Request& request, const auto& respond) {
                  respond(answer(request));
                }).value()) {}

  kube::Cluster cluster() const {
    return {.server = fmt::format("http://127.0.0.1:{}", server_->port()),
            .namespace_ = "default",
            .credentials = std::make_shared<NoCredentials>()};
  }

 private:
  struct NoCredentials : kube::Credentials {
    Result<std::string> Token(bool) override { return std::string(); }
    Result<tls::ClientIdentity> Identity() override { return tls::ClientIdentity{}; }
  };

  std::unique_ptr<http::Server> server_;
};

}  // namespace longshore::cli
