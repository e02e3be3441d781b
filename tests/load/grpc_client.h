// PredictionService.Predict over several HTTP/2 connections, asynchronously.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "tests/load/client.h"
#include "tests/load/samples.h"

namespace grpc {
class Status;
}

namespace longshore::load {

struct GrpcOptions {
  std::string target;   // "127.0.0.1:8500" or "unix:/path"
  int connections = 8;  // Separate connections, used in turn.
  bool fresh = false;   // Opens a new connection for every request instead.
  std::chrono::milliseconds deadline{5000};
};

// `samples` must outlive the client.
std::unique_ptr<Client> MakeGrpcClient(const GrpcOptions& options, const Samples& samples);

// Whether gRPC itself reports a lost or refused connection. UNAVAILABLE from a server (a full queue) does not count.
bool IsConnectionDeath(const grpc::Status& status);

// Whether a float32 output has NaN or an infinity, in either encoding of the tensor.
bool HasNonFinite(const tensorflow::serving::PredictResponse& response);

}  // namespace longshore::load
