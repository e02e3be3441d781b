// Certificates and keys of OpenSSL, out of PEM text. Internal to tls/.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

#include "common/error.h"

namespace longshore::tls {

struct Free {
  void operator()(BIO* bio) const;
  void operator()(X509* certificate) const;
  void operator()(EVP_PKEY* key) const;
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// To read from; the text outlives it.
Owned<BIO> Open(const std::string& pem);

// Null behind the last one. InvalidArgument where one begins that cannot be read, for example because it is cut.
Result<Owned<X509>> NextCertificate(BIO* bio);

// InvalidArgument when it is no PEM text, or needs a password. Nothing of the key is in the text.
Result<Owned<EVP_PKEY>> ReadKey(const std::string& pem);

}  // namespace longshore::tls
