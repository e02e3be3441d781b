// Nodes that hold what they are told and serve nothing: streams to a controller, many in one process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/file.h"

namespace longshore::bench {

struct NodeLogin {
  std::string fleet;  // "namespace/name".
  std::string node;
  std::string token;
};

// Lines "FLEET NODE TOKEN". InvalidArgument naming the line.
Result<std::vector<NodeLogin>> ReadLogins(const Path& file);

struct StreamCounts {
  int64_t streams = 0;   // Under way.
  int64_t messages = 0;  // Received, heartbeats among them.
  int64_t bytes = 0;     // Of those messages.
};

// Each has a connection of its own. A stream that ends is dialled again.
class Streams {
 public:
  virtual ~Streams() = default;
  virtual StreamCounts counts() const = 0;
};

// `ca`: PEM.
std::unique_ptr<Streams> StartStreams(const std::string& target, const std::string& ca, std::vector<NodeLogin> logins);

}  // namespace longshore::bench
