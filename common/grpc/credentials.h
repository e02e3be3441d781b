// What a gRPC server asks of whoever connects and calls: TLS, and a gate before every method.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <functional>
#include <memory>
#include <string_view>

#include "common/error.h"
#include "common/tls/identity.h"

namespace longshore::rpc {

// The head of a call. The texts live as long as the question.
struct CallHead {
  std::string_view path;           // "/tensorflow.serving.PredictionService/Predict"
  std::string_view authorization;  // The header of this name, "" without one, or with two.
};
// Decides by the head alone, before a service or an unknown method sees the call. Any thread; must not block. The
// error is the call's answer.
using CallGate = std::function<Status(const CallHead& head)>;

struct CredentialsOptions {
  std::shared_ptr<tls::Identities> tls = {};  // Null: plaintext. Every handshake takes the current identity.
  CallGate gate = {};                         // Empty: every call may pass.
};

// For one port of a ServerBuilder. Keep it until the server is gone: handshakes call back into it.
std::shared_ptr<::grpc::ServerCredentials> MakeServerCredentials(CredentialsOptions options);

}  // namespace longshore::rpc
