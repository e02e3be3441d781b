// What the ends of a gRPC connection ask of each other: TLS, and of whoever calls a gate before every method.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <functional>
#include <memory>
#include <string_view>

#include "common/error.h"
#include "common/tls/identity.h"

struct grpc_auth_context;

namespace longshore::rpc {

// The head of a call. The texts live as long as the question.
struct CallHead {
  std::string_view path;           // "/tensorflow.serving.PredictionService/Predict"
  std::string_view authorization;  // The header of this name, "" without one, or with two.
  const grpc_auth_context* peer = nullptr;

  // Whether the caller's certificate, which was verified, has this DNS name.
  bool ShowsDnsName(std::string_view name) const;
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

// For channels. The server's certificate must have the name that is dialled, or the channel's arguments name another.
std::shared_ptr<::grpc::ChannelCredentials> MakeChannelCredentials(const tls::ClientIdentity& identity);

}  // namespace longshore::rpc
