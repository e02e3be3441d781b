#include "common/tls/pem.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace longshore::tls {
namespace {

// Without it, OpenSSL would ask the terminal for the password of an encrypted key, and wait.
int NoPassword(char*, int, int, void*) { return -1; }

}  // namespace

void Free::operator()(BIO* bio) const { BIO_free(bio); }
void Free::operator()(X509* certificate) const { X509_free(certificate); }
void Free::operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }

Owned<BIO> Open(const std::string& pem) {
  return Owned<BIO>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Result<Owned<X509>> NextCertificate(BIO* bio) {
  ERR_clear_error();
  Owned<X509> next(PEM_read_bio_X509(bio, nullptr, NoPassword, nullptr));
  const auto why = ERR_peek_last_error();
  const bool is_end = ERR_GET_LIB(why) == ERR_LIB_PEM && ERR_GET_REASON(why) == PEM_R_NO_START_LINE;
  if (!next && !is_end) return InvalidArgument("a certificate is cut or damaged");
  ERR_clear_error();
  return next;
}

Result<Owned<EVP_PKEY>> ReadKey(const std::string& pem) {
  const auto bio = Open(pem);
  Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (!key) return InvalidArgument("the key is no PEM text, or needs a password");
  return key;
}

}  // namespace longshore::tls
