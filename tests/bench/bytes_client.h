// A client that neither serializes requests nor parses answers, so that a server is busy long before it: for large
// messages, and for services other than PredictionService.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/load/client.h"
#include "tests/load/samples.h"

namespace longshore::bench {

struct BytesOptions {
  std::string target;  // host:port
  int connections = 4;
  size_t answer_bytes_min = 0;  // A shorter answer has failed.
};

// A method and the requests that are sent to it; Ask::sample is the index of a request.
struct Calls {
  std::string method;  // "/package.Service/Method"
  std::vector<grpc::ByteBuffer> requests;
  std::string answer_part;  // Bytes that each answer must contain; only for short answers, which are searched.
};

// The requests of the samples for PredictionService.Predict.
Calls PredictCalls(const load::Samples& samples);

// A request with x, a float of shape [1, 1], to the model `identity`, by ModelInfer of the Open Inference Protocol. The
// answer must contain the same float.
Calls InferCalls();

// `calls` must outlive the client.
std::unique_ptr<load::Client> MakeBytesClient(const BytesOptions& options, const Calls& calls);

}  // namespace longshore::bench
