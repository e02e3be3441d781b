// Certificate requests (PKCS #10): a public key, and the proof that the sender has its private key.
#pragma once

#include <string>

#include "common/base/error.h"

namespace longshore::tls {

// A certificate request and its private key, as PEM texts. The request contains no names, because the signer chooses
// the names in the certificate.
struct Request {
  std::string request;
  std::string key;  // A new P-256 key, which is not part of the request.
};
Result<Request> MakeRequest();

}  // namespace longshore::tls
