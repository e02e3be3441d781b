#include "common/net/grpc/credentials.h"

namespace longshore::rpc {

std::shared_ptr<::grpc::ChannelCredentials> MakeChannelCredentials(const tls::ClientIdentity& identity) {
  return ::grpc::SslCredentials(
      {.pem_root_certs = identity.server_ca, .pem_private_key = identity.key, .pem_cert_chain = identity.certificate});
}

}  // namespace longshore::rpc
