// Requests for certificates (PKCS #10): a key, and the proof that who asks has it.
#pragma once

#include <string>

#include "common/error.h"

namespace longshore::tls {

// As PEM text. It names nobody: who signs says whom the certificate names.
struct Request {
  std::string request;
  std::string key;  // New, of the curve P-256, and told to nobody.
};
Result<Request> MakeRequest();

}  // namespace longshore::tls
