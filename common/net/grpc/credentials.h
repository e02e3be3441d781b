// Credentials of gRPC channels.
#pragma once

#include <grpcpp/security/credentials.h>

#include <memory>

#include "common/net/tls/identity.h"

namespace longshore::rpc {

// Returns credentials for channels. The certificate of the server must have the name that the channel dials or, if the
// arguments of the channel override this name, the overriding name.
std::shared_ptr<::grpc::ChannelCredentials> MakeChannelCredentials(const tls::ClientIdentity& identity);

}  // namespace longshore::rpc
