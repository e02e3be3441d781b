// Converts PEM text to OpenSSL's certificates and keys, and back. Internal to tls/.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

#include "common/base/error.h"

struct X509_req_st;  // The type of X509_REQ, which <openssl/types.h> does not declare.

namespace longshore::tls {

struct Free {
  void operator()(BIO* bio) const;
  void operator()(X509* certificate) const;
  void operator()(EVP_PKEY* key) const;
  void operator()(X509_req_st* request) const;
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// The password callback for all functions that read PEM. Without it, OpenSSL would wait for a password at the terminal
// if a text is encrypted.
int NoPassword(char*, int, int, void*);

// Opens the text for reading. The text must outlive the result.
Owned<BIO> Open(const std::string& pem);

// Reads the next certificate. Returns null after the last one, and InvalidArgument if a certificate is malformed, for
// example truncated.
Result<Owned<X509>> NextCertificate(BIO* bio);

// Returns InvalidArgument if the text is not PEM or needs a password. The message contains nothing of the key.
Result<Owned<EVP_PKEY>> ReadKey(const std::string& pem);

inline constexpr size_t kRequestBytesMax = 4096;  // Requests of Longshore have about 400 bytes.

// Returns the public key of a certificate request (PKCS #10) from an untrusted sender. Returns InvalidArgument if the
// text is malformed or too long, if the key is not a P-256 key, or if it has not signed the request.
Result<Owned<EVP_PKEY>> ReadRequest(const std::string& pem);

// Creates a P-256 key.
Result<Owned<EVP_PKEY>> MakeKey();

// Returns the text that was written to a memory BIO.
std::string TextOf(BIO* bio);
Result<std::string> ToPem(X509* certificate);
Result<std::string> ToPem(EVP_PKEY* key);

}  // namespace longshore::tls
