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
  int connections = 8;  // Each a connection of its own, used in turn.
  bool fresh = false;   // Instead, every request makes a connection of its own.
  std::chrono::milliseconds deadline{5000};
};

// `samples` must outlive the client.
std::unique_ptr<Client> MakeGrpcClient(const GrpcOptions& options, const Samples& samples);

// Whether a failure is gRPC's own word for a lost or refused connection. A server's UNAVAILABLE (a full queue) is not.
bool IsConnectionDeath(const grpc::Status& status);

// Whether an output holds NaN or an infinity, however the tensor is written down.
bool HasNonFinite(const tensorflow::serving::PredictResponse& response);

}  // namespace longshore::load
