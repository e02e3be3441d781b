#include "common/net/grpc/credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <mutex>

namespace longshore::rpc {
namespace {

std::string_view View(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice)};
}

// Uses gRPC's C API, because its C++ API can neither check calls on plaintext connections nor check new certificates
// before they replace the old ones.
class Credentials final : public ::grpc::ServerCredentials {
 public:
  explicit Credentials(CredentialsOptions options)
      : tls_(std::move(options.tls)), credentials_(tls_ ? MakeTls() : grpc_insecure_server_credentials_create()) {
    if (!options.gate) return;
    grpc_server_credentials_set_auth_metadata_processor(
        credentials_, {.process = &CheckCall,
                       .destroy = [](void* gate) { delete static_cast<CallGate*>(gate); },
                       .state = new CallGate(std::move(options.gate))});
  }
  ~Credentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<::grpc::AuthMetadataProcessor>&) override {
    CHECK(false);  // gRPC's metadata processor is not supported; the gate replaces it.
  }

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  grpc_server_credentials* MakeTls() {
    const auto request = tls_->current()->verify_client ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                        : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    return grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(request, &Fetch, this));
  }

  // gRPC calls this function before each handshake.
  static grpc_ssl_certificate_config_reload_status Fetch(void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<Credentials*>(self)->FetchNew(config);
  }
  grpc_ssl_certificate_config_reload_status FetchNew(grpc_ssl_server_certificate_config** config) {
    const auto now = tls_->current();
    const std::lock_guard lock(mutex_);
    if (now == fetched_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair{.private_key = now->key.c_str(), .cert_chain = now->certificate.c_str()};
    // gRPC requires a CA even if clients need no certificate. In this case any certificate will do.
    const std::string& authority = now->verify_client ? now->client_ca : now->certificate;
    *config = grpc_ssl_server_certificate_config_create(authority.c_str(), &pair, 1);
    if (*config == nullptr) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_FAIL;
    fetched_ = now;
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  static void CheckCall(void* gate, grpc_auth_context* peer, const grpc_metadata* metadata, size_t count,
                        grpc_process_auth_metadata_done_cb done, void* call) {
    CallHead head;
    head.peer = peer;
    size_t authorizations = 0;
    for (size_t i = 0; i < count; ++i) {
      if (View(metadata[i].key) == ":path") head.path = View(metadata[i].value);
      if (View(metadata[i].key) != "authorization") continue;
      head.authorization = View(metadata[i].value);
      ++authorizations;
    }
    // If the header is repeated, it is unknown which of its values a proxy has checked.
    const Status answer = authorizations > 1
                              ? Fail(Code::kUnauthenticated, "the request has several authorization headers")
                              : (*static_cast<CallGate*>(gate))(head);
    const auto code = answer ? GRPC_STATUS_OK : static_cast<grpc_status_code>(answer.error().code);
    done(call, nullptr, 0, nullptr, 0, code, answer ? nullptr : answer.error().message.c_str());
  }

  const std::shared_ptr<tls::Identities> tls_;
  std::mutex mutex_;
  std::shared_ptr<const tls::Identity> fetched_;  // Guarded by the mutex.
  grpc_server_credentials* const credentials_;    // Last: its creation may call Fetch, which uses the other members.
};

}  // namespace

bool CallHead::HasDnsName(std::string_view name) const {
  if (peer == nullptr) return false;
  auto names = grpc_auth_context_find_properties_by_name(peer, GRPC_PEER_DNS_PROPERTY_NAME);
  while (const grpc_auth_property* shown = grpc_auth_property_iterator_next(&names)) {
    if (std::string_view(shown->value, shown->value_length) == name) return true;
  }
  return false;
}

std::shared_ptr<::grpc::ChannelCredentials> MakeChannelCredentials(const tls::ClientIdentity& identity) {
  return ::grpc::SslCredentials(
      {.pem_root_certs = identity.server_ca, .pem_private_key = identity.key, .pem_cert_chain = identity.certificate});
}

std::shared_ptr<::grpc::ServerCredentials> MakeServerCredentials(CredentialsOptions options) {
  if (!options.tls && !options.gate) return ::grpc::InsecureServerCredentials();
  return std::make_shared<Credentials>(std::move(options));
}

}  // namespace longshore::rpc
