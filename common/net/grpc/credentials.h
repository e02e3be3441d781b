// Credentials of gRPC servers and channels: TLS, and on servers a check that runs before every method.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <functional>
#include <memory>
#include <string_view>

#include "common/base/error.h"
#include "common/net/tls/identity.h"

struct grpc_auth_context;

namespace longshore::rpc {

// The head of a call. The strings are valid only during the call of the gate.
struct CallHead {
  std::string_view path;           // "/tensorflow.serving.PredictionService/Predict"
  std::string_view authorization;  // The header of this name; "" if it is missing or repeated.
  const grpc_auth_context* peer = nullptr;

  // Whether the caller's verified certificate has this DNS name.
  bool HasDnsName(std::string_view name) const;
};
// Decides from the head whether a call is admitted, before a service or the handler of unknown methods gets it. Runs on
// any thread and must not block. An error is the answer to the call.
using CallGate = std::function<Status(const CallHead& head)>;

struct CredentialsOptions {
  std::shared_ptr<tls::Identities> tls = {};  // Null: plaintext. Every handshake takes the current identity.
  CallGate gate = {};                         // Empty: every call is admitted.
};

// For one port of a ServerBuilder. Must outlive the server: handshakes call back into it.
std::shared_ptr<::grpc::ServerCredentials> MakeServerCredentials(CredentialsOptions options);

// For channels. The server's certificate must have the dialled name, or the name that the channel's arguments override
// it with.
std::shared_ptr<::grpc::ChannelCredentials> MakeChannelCredentials(const tls::ClientIdentity& identity);

}  // namespace longshore::rpc
