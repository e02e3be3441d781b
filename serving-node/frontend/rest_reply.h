// Answers of the REST listener: errors as JSON, and the answer to a prediction, which is counted.
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "common/base/error.h"
#include "common/net/http/types.h"
#include "serving-node/frontend/in_flight.h"
#include "serving-node/frontend/metered.h"
#include "serving-node/frontend/refusals.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::frontend {

// Returns {"error": "..."} with the HTTP status for the code. The text is cut to kErrorBytesMax bytes, and bytes that
// are not valid UTF-8 are replaced.
http::Response ErrorResponse(const Error& error, bool may_retry);
http::Response ErrorResponse(const Error& error);
// Returns the body or the error.
http::Response JsonResponse(Result<std::string> body);

// Returns the span of the caller, from the header traceparent; nullopt if it is absent or not valid.
std::optional<tracing::Context> ParentOf(const http::Headers& headers);

// The body of an answer, and the model spec with the version that answered.
struct Inferred {
  std::string body;
  tensorflow::serving::ModelSpec spec;
  std::string content_type = "application/json";
  http::Headers headers = {};  // Besides those that every answer has.
};

// Answers a request to a model, and counts it. The request keeps its in-flight slot until the answer is written or the
// connection is closed.
class Reply {
 public:
  Reply(http::Responder respond, MeteredRequest metered, InFlight::Slot slot);

  void operator()(Result<Inferred> inferred) const;
  void operator()(const Error& error) const { (*this)(tl::make_unexpected(error)); }

  void RefuseWithRetry(const Error& error) const;
  void SetExamples(int64_t examples) const;
  // The trace of the request; null if the node exports no traces.
  const tracing::TracePtr& trace() const;

  // Runs a part of the request's work. If memory does not suffice, answers the request with an error, because the work
  // may run on a thread of the engine, which does not catch exceptions.
  template <typename Work>
  void Guard(Work work) const {
    try {
      work();
    } catch (const std::bad_alloc&) {
      (*this)(OutOfMemory());
    }
  }

 private:
  struct State;

  void Fail(const Error& error, http::Response response) const;
  void Respond(http::Response response) const;

  const std::shared_ptr<State> state_;
};

}  // namespace longshore::frontend
