#include "common/net/tls/pem.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace longshore::tls {
namespace {

// P-256 is the only accepted curve, so that verifying a request always has the same cost.
bool IsP256(EVP_PKEY* key) {
  char curve[32] = "";
  return EVP_PKEY_is_a(key, "EC") == 1 && EVP_PKEY_get_group_name(key, curve, sizeof curve, nullptr) == 1 &&
         std::string(curve) == SN_X9_62_prime256v1;
}

Result<Owned<EVP_PKEY>> Check(X509_REQ* request) {
  if (request == nullptr) return InvalidArgument("the certificate request is not PEM text of PKCS #10");
  Owned<EVP_PKEY> key(X509_REQ_get_pubkey(request));
  if (!key || !IsP256(key.get())) return InvalidArgument("the key of a certificate request must be a P-256 key");
  if (X509_REQ_verify(request, key.get()) != 1)
    return InvalidArgument("the certificate request is not signed by its key");
  return key;
}

}  // namespace

int NoPassword(char*, int, int, void*) { return -1; }

void Free::operator()(BIO* bio) const { BIO_free(bio); }
void Free::operator()(X509* certificate) const { X509_free(certificate); }
void Free::operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
void Free::operator()(X509_REQ* request) const { X509_REQ_free(request); }

Owned<BIO> Open(const std::string& pem) {
  return Owned<BIO>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Result<Owned<X509>> NextCertificate(BIO* bio) {
  ERR_clear_error();
  Owned<X509> next(PEM_read_bio_X509(bio, nullptr, NoPassword, nullptr));
  const auto why = ERR_peek_last_error();
  const bool is_end = ERR_GET_LIB(why) == ERR_LIB_PEM && ERR_GET_REASON(why) == PEM_R_NO_START_LINE;
  if (!next && !is_end) return InvalidArgument("a certificate is truncated or damaged");
  ERR_clear_error();
  return next;
}

Result<Owned<EVP_PKEY>> ReadKey(const std::string& pem) {
  const auto bio = Open(pem);
  Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (!key) return InvalidArgument("the key is not PEM text, or needs a password");
  return key;
}

Result<Owned<EVP_PKEY>> ReadRequest(const std::string& pem) {
  if (pem.size() > kRequestBytesMax)
    return InvalidArgument("the certificate request has {} bytes; the limit is {}", pem.size(), kRequestBytesMax);
  const auto text = Open(pem);
  const Owned<X509_REQ> read(PEM_read_bio_X509_REQ(text.get(), nullptr, NoPassword, nullptr));
  auto key = Check(read.get());
  ERR_clear_error();
  return key;
}

Result<Owned<EVP_PKEY>> MakeKey() {
  Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (!key) return ResourceExhausted("not enough memory for a key");
  return key;
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

Result<std::string> ToPem(X509* certificate) {
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(text.get(), certificate) != 1) return ResourceExhausted("not enough memory for a certificate");
  return TextOf(text.get());
}

Result<std::string> ToPem(EVP_PKEY* key) {
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PKCS8PrivateKey(text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return ResourceExhausted("not enough memory for a key");
  return TextOf(text.get());
}

}  // namespace longshore::tls
