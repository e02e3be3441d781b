// Fake nodes: streams to a controller, many in one process. They keep the desired state that they receive, and serve
// nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "tests/bench/control/fake_state.h"

namespace longshore::bench::control {

struct NodeLogin {
  std::string fleet;  // "namespace/name".
  std::string node;
  std::string token;
};

// Parses lines "FLEET NODE TOKEN". The message of InvalidArgument names the line.
Result<std::vector<NodeLogin>> ReadLogins(const Path& file);

// How fake nodes appear to the controller.
struct Appearance {
  std::string peer_address = "10.0.0.1:8503";  // Real nodes of the fleet forward requests to it; "": they do not.
  std::string digest_of_files = kFakeDigest;   // "": the controller takes the digest of a real node.
};

// The nodes that have stopped answering with a version, because a change of the model took its weight.
struct Left {
  int64_t nodes = 0;
  TimePoint last_at;  // When the last one of them received the change.
};

struct StreamCounts {
  int64_t streams = 0;   // Number of open streams that have received a message.
  int64_t messages = 0;  // Number of received messages, including heartbeats.
  int64_t bytes = 0;     // The size of those messages.
  std::map<LeftVersion, Left> left{};
};

// The streams of all fake nodes. Each has its own connection. A stream that ends is opened again.
class Streams {
 public:
  virtual ~Streams() = default;
  virtual StreamCounts counts() = 0;
};

// `ca` is the certificate of the authority of the controller, as PEM.
std::unique_ptr<Streams> StartStreams(const std::string& target, const std::string& ca, std::vector<NodeLogin> logins,
                                      const Appearance& appearance);

}  // namespace longshore::bench::control
