#include "common/net/tls/identity.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <string_view>

#include "common/net/tls/pem.h"
#include "common/os/file.h"

namespace longshore::tls {
namespace {

// The files with the system's CAs on Debian and Alpine, on Fedora, and on openSUSE.
constexpr const char* kSystemAuthorities[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                              "/etc/ssl/ca-bundle.pem"};
constexpr size_t kAuthoritiesBytesMax = size_t{16} << 20;
constexpr size_t kNameBytesMax = 200;

Status UseCertificates(const std::string& pem, SSL_CTX* context) {
  const auto bio = Open(pem);
  ASSIGN_OR_RETURN(const auto own, NextCertificate(bio.get()));
  if (!own) return InvalidArgument("the certificate is not PEM text");
  if (SSL_CTX_use_certificate(context, own.get()) != 1) return InvalidArgument("OpenSSL rejects the certificate");
  for (;;) {
    ASSIGN_OR_RETURN(auto next, NextCertificate(bio.get()));
    if (!next) return {};
    if (SSL_CTX_add0_chain_cert(context, next.get()) != 1) return InvalidArgument("the certificate's chain is damaged");
    next.release();
  }
}

Status UseKey(const std::string& pem, SSL_CTX* context) {
  ASSIGN_OR_RETURN(const auto key, ReadKey(pem));
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return InvalidArgument("the key does not belong to the certificate");
  }
  return {};
}

// Calls use(certificate) for each certificate in the text. Returns the number of certificates.
template <typename Use>
Result<int> ForEachCertificate(const std::string& pem, Use use) {
  const auto bio = Open(pem);
  for (int count = 0;; ++count) {
    ASSIGN_OR_RETURN(const auto next, NextCertificate(bio.get()));
    if (!next) return count;
    if (!use(next.get())) return InvalidArgument("OpenSSL rejects a certificate of the CA");
  }
}

Status TrustClientsOf(const std::string& pem, SSL_CTX* context) {
  ASSIGN_OR_RETURN(const int count, ForEachCertificate(pem, [&](X509* authority) {
                     SSL_CTX_add_client_CA(context, authority);
                     return X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority) == 1;
                   }));
  if (count == 0) return InvalidArgument("the CA to verify clients is not PEM text");
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return {};
}

Status TrustServersOf(const std::string& pem, SSL_CTX* context) {
  X509_STORE* store = X509_STORE_new();
  if (store == nullptr) return ResourceExhausted("not enough memory for TLS");
  SSL_CTX_set_cert_store(context, store);  // The context now owns `store`, and frees its old store of the system's CAs.
  ASSIGN_OR_RETURN(const int count, ForEachCertificate(pem, [&](X509* authority) {
                     return X509_STORE_add_cert(store, authority) == 1;
                   }));
  if (count == 0) return InvalidArgument("the CA to verify servers is not PEM text");
  return {};
}

// Returns the subject of the certificate, such as "CN=prometheus". It is cut to kNameBytesMax bytes, because the
// creator of the certificate may choose any length.
std::string NameOf(X509* certificate) {
  const Owned<BIO> out(BIO_new(BIO_s_mem()));
  if (certificate == nullptr || !out) return "without a name";
  X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  const std::string name = TextOf(out.get()).substr(0, kNameBytesMax);
  return name.empty() ? "without a name" : "\"" + name + "\"";
}

// Verifies a certificate chain like OpenSSL's default, and reports failures to on_verify_failure.
int Verify(X509_STORE_CTX* chain, void* on_verify_failure) {
  if (X509_verify_cert(chain) == 1) return 1;
  const int error = X509_STORE_CTX_get_error(chain);
  // The library that dials (gRPC or the HTTP client) itself compares the server's name with the dialled one. If they
  // differ, the verification fails without an error code that says so.
  const bool is_other_name = error == X509_V_OK || error == X509_V_ERR_UNSPECIFIED;
  const char* why =
      is_other_name ? "it is for another name than the one that was dialled" : X509_verify_cert_error_string(error);
  (*static_cast<const OnVerifyFailure*>(on_verify_failure))(
      fmt::format("the certificate {} is not trusted: {}", NameOf(X509_STORE_CTX_get_current_cert(chain)), why));
  return 0;
}

// ALPN's lists: the length of each name, and the name.
constexpr std::string_view kHttp1 = "\x08http/1.1";
constexpr std::string_view kHttp2 = "\x02h2";

int ChooseProtocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                   unsigned int in_size, void* offered) {
  const auto& ours = *static_cast<const std::string_view*>(offered);
  auto** chosen = const_cast<unsigned char**>(out);
  const int match = SSL_select_next_proto(chosen, out_size, reinterpret_cast<const unsigned char*>(ours.data()),
                                          static_cast<unsigned int>(ours.size()), in, in_size);
  return match == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

void Init() { OPENSSL_init_ssl(0, nullptr); }

Result<std::shared_ptr<SSL_CTX>> MakeServerContext(const Identity& identity, Protocol protocol) {
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) return ResourceExhausted("not enough memory for TLS");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  static constexpr std::string_view kSessions = "longshore";
  SSL_CTX_set_session_id_context(context.get(), reinterpret_cast<const unsigned char*>(kSessions.data()),
                                 kSessions.size());
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseProtocol,
                             const_cast<std::string_view*>(protocol == Protocol::kHttp2 ? &kHttp2 : &kHttp1));
  Status used = UseCertificates(identity.certificate, context.get());
  if (used) used = UseKey(identity.key, context.get());
  if (used && identity.verify_client) used = TrustClientsOf(identity.client_ca, context.get());
  // OpenSSL's error queue belongs to the thread: an error left in it would be attributed to a later operation.
  ERR_clear_error();
  if (!used) return tl::make_unexpected(used.error());
  return context;
}

std::vector<std::string> VerifiedDnsNames(const SSL* connection) {
  std::vector<std::string> found;
  const Owned<X509> certificate(SSL_get1_peer_certificate(connection));
  if (!certificate || SSL_get_verify_result(connection) != X509_V_OK) return found;
  auto* names =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_DNS) continue;
    found.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                       static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  GENERAL_NAMES_free(names);
  ERR_clear_error();
  return found;
}

Status UseAsClient(const ClientIdentity& identity, SSL_CTX* context, const OnVerifyFailure* on_verify_failure) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  if (on_verify_failure != nullptr)
    SSL_CTX_set_cert_verify_callback(context, Verify, const_cast<OnVerifyFailure*>(on_verify_failure));
  Status used = TrustServersOf(identity.server_ca, context);
  if (used && !identity.certificate.empty()) used = UseCertificates(identity.certificate, context);
  if (used && !identity.certificate.empty()) used = UseKey(identity.key, context);
  ERR_clear_error();
  return used;
}

Result<std::string> ReadSystemCas() {
  for (const char* file : kSystemAuthorities) {
    auto text = ReadFile(file, kAuthoritiesBytesMax);
    if (text || text.error().code != Code::kNotFound) return text;
  }
  return NotFound("this system has no list of trusted CAs: none of these files exists: {}",
                  fmt::join(kSystemAuthorities, ", "));
}

}  // namespace longshore::tls
