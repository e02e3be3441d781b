// Certificates and keys of OpenSSL, out of PEM text. Internal to tls/.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

#include "common/error.h"

struct X509_req_st;  // X509_REQ, which openssl/types.h leaves out.

namespace longshore::tls {

struct Free {
  void operator()(BIO* bio) const;
  void operator()(X509* certificate) const;
  void operator()(EVP_PKEY* key) const;
  void operator()(X509_req_st* request) const;
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// For whatever reads PEM: without it, OpenSSL would ask the terminal for the password of what is encrypted, and wait.
int NoPassword(char*, int, int, void*);

// To read from; the text outlives it.
Owned<BIO> Open(const std::string& pem);

// Null behind the last one. InvalidArgument where one begins that cannot be read, for example because it is cut.
Result<Owned<X509>> NextCertificate(BIO* bio);

// InvalidArgument when it is no PEM text, or needs a password. Nothing of the key is in the text.
Result<Owned<EVP_PKEY>> ReadKey(const std::string& pem);

inline constexpr size_t kRequestBytesMax = 4096;  // Ours have 400.

// The public key of a request for a certificate (PKCS #10) that may come from anybody. InvalidArgument when the text is
// none or too long, when the key is not of P-256, or when it did not sign the request.
Result<Owned<EVP_PKEY>> ReadRequest(const std::string& pem);

// A new one, of the curve P-256.
Result<Owned<EVP_PKEY>> MakeKey();

// What was written into memory.
std::string TextOf(BIO* bio);
Result<std::string> ToPem(X509* certificate);
Result<std::string> ToPem(EVP_PKEY* key);

}  // namespace longshore::tls
