// Fake nodes: streams to a controller, many in one process. They keep the desired state that they receive, and serve
// nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore::bench::control {

struct NodeLogin {
  std::string fleet;  // "namespace/name".
  std::string node;
  std::string token;
};

// Parses lines "FLEET NODE TOKEN". The message of InvalidArgument names the line.
Result<std::vector<NodeLogin>> ReadLogins(const Path& file);

struct StreamCounts {
  int64_t streams = 0;   // Number of open streams that have received a message.
  int64_t messages = 0;  // Number of received messages, including heartbeats.
  int64_t bytes = 0;     // The size of those messages.
};

// The streams of all fake nodes. Each has its own connection. A stream that ends is opened again.
class Streams {
 public:
  virtual ~Streams() = default;
  virtual StreamCounts counts() const = 0;
};

// `ca` is the certificate of the authority of the controller, as PEM.
std::unique_ptr<Streams> StartStreams(const std::string& target, const std::string& ca, std::vector<NodeLogin> logins);

}  // namespace longshore::bench::control
