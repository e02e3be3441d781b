// The stream of ModelStreamInfer: each request is answered before the next one is read, so answers have the order of
// their requests, and a client cannot queue requests in this node.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "common/base/error.h"
#include "serving-node/frontend/grpc_call.h"
#include "serving-node/frontend/oip/methods.h"

namespace longshore::frontend::oip {

// What the answer to a request of a stream repeats of it.
struct Asked {
  std::string id;
  bool marks_final = false;
};

// Reads a ModelInferRequest, and tells the meter its model. Sets `asked` also if the request is not valid, as far as
// its bytes can be read. InvalidArgument or ResourceExhausted as in codec::Open and codec::FromProto;
// ResourceExhausted if memory does not suffice.
Result<codec::InferRequest> Decode(Pieces bytes, int64_t elements_max, MeteredRequest* metered, Asked* asked);

// The open streams of a server. Thread-safe. Must outlive its streams, and so must what the constructor gets.
class Streams {
 public:
  Streams(const Methods& methods, const CallOptions& options) : methods_(methods), options_(options) {}

  // Serves a stream. The error of a request is the error_message of its answer, and does not end the stream, unless the
  // metadata of the call have `triton_grpc_error: true`.
  void Open(const CallPtr& call);

  // Ends each stream with UNAVAILABLE after its current answer, or at once if it has none. Streams that are opened
  // later end at once.
  void End();

 private:
  class Stream;

  const Methods& methods_;
  const CallOptions& options_;
  std::mutex mutex_;  // Guards the members below, and which streams are reading.
  bool ended_ = false;
  std::unordered_set<std::shared_ptr<Stream>> open_;
};

}  // namespace longshore::frontend::oip
