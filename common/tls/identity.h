// What a TLS server shows to its clients and asks of them. OpenSSL is seen only in this folder and common/http.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

#include "common/error.h"
#include "common/reloaded.h"

namespace longshore::tls {

// All as PEM text.
struct Identity {
  std::string certificate;  // The server's, then those between it and the root.
  std::string key;
  std::string client_ca;  // Who signs the clients' certificates: required when clients are verified.
  bool verify_client = false;

  friend bool operator==(const Identity&, const Identity&) = default;
};

// The identity of new connections; those that are there keep theirs.
using Identities = Reloaded<Identity>;

// A context of OpenSSL for a server: TLS 1.2 or newer, no renegotiation, HTTP/1.1 where the client asks by ALPN.
// InvalidArgument saying which part is no PEM, that key and certificate do not belong together, or that a CA is
// missing. Nothing of the key is in the text.
Result<std::shared_ptr<SSL_CTX>> MakeServerContext(const Identity& identity);

}  // namespace longshore::tls
