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

// What a CallGate sees of a call: its head. The strings are valid only until the gate returns.
struct CallHead {
  std::string_view path;           // "/tensorflow.serving.PredictionService/Predict"
  std::string_view authorization;  // The value of the header; "" if it is missing.
  const grpc_auth_context* peer = nullptr;

  // Whether the caller's verified certificate has this DNS name.
  bool HasDnsName(std::string_view name) const;
};
// Decides from the head whether a call is admitted, before a service or the handler of unknown methods gets it. Runs on
// any thread and must not block. If the gate returns an error, this error is the answer to the call. A call with
// several authorization headers gets Unauthenticated and does not reach the gate.
using CallGate = std::function<Status(const CallHead& head)>;

struct CredentialsOptions {
  std::shared_ptr<tls::Identities> tls = {};  // Null: plaintext. Every handshake takes the current identity.
  CallGate gate = {};                         // Empty: every call is admitted.
};

// Returns credentials for one port of a ServerBuilder. They must outlive the server, because handshakes call back into
// them.
std::shared_ptr<::grpc::ServerCredentials> MakeServerCredentials(CredentialsOptions options);

// Returns credentials for channels. The certificate of the server must have the name that the channel dials or, if the
// arguments of the channel override this name, the overriding name.
std::shared_ptr<::grpc::ChannelCredentials> MakeChannelCredentials(const tls::ClientIdentity& identity);

}  // namespace longshore::rpc
