// The servers that the serving benchmark compares the node with: they read the requests that the node would get and
// send their content back.
#pragma once

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

struct GrpcEchoOptions {
  // 0: each input comes back as an output. Otherwise each answer has one output of this number of floats.
  int answer_floats = 0;
};

// PredictionService over gRPC's callback API, with the generated messages. Listens on 127.0.0.1.
std::unique_ptr<Echo> StartCallbackEcho(const GrpcEchoOptions& options = {});

// The same service over one completion queue and one thread.
std::unique_ptr<Echo> StartQueueEcho(const GrpcEchoOptions& options = {});

// The same, but it neither parses a request nor serializes an answer: it gets and sends bytes. Therefore it cannot
// return the inputs: each answer has one output, of one float unless the options say otherwise.
std::unique_ptr<Echo> StartBytesEcho(const GrpcEchoOptions& options = {});

// HTTP/1.1 over Boost.Beast on one thread; the answer has the body of the request. Unavailable if it cannot listen on a
// port.
Result<std::unique_ptr<Echo>> StartRestEcho();

}  // namespace longshore::bench
