// The interface between the generator and the client of a protocol: exactly one reply for each request.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "tests/load/keys.h"

namespace longshore::load {

struct Ask {
  size_t sample = 0;            // The index of the prepared input.
  std::optional<KeyIndex> key;  // Sent as the header or metadata x-user-id.
};

struct Reply {
  Code code = Code::kOk;
  std::string message;
  int64_t version = 0;            // The version that answered; 0 if the reply does not name it.
  bool version_disputed = false;  // Whether header and body name different versions.
  std::string node;               // The value of the header x-longshore-node; "" without it.
  bool non_finite = false;        // Whether an output has a NaN or an infinity.
  bool connection_died = false;   // Whether the connection failed, so that the server gave no answer.
};

using ReplyDone = std::function<void(Reply)>;

// Thread-safe. The destructor waits for requests in flight.
class Client {
 public:
  virtual ~Client() = default;
  // Calls `done` exactly once, on any thread, at the latest shortly after the deadline.
  virtual void Send(const Ask& ask, ReplyDone done) = 0;
};

}  // namespace longshore::load
