// What the ends of a TLS connection show to each other and ask of each other. OpenSSL is seen only in this folder and
// common/http.
#pragma once

#include <openssl/types.h>

#include <functional>
#include <memory>
#include <string>

#include "common/error.h"
#include "common/file.h"
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

// All as PEM text.
struct ClientIdentity {
  std::string server_ca;    // Who signs the servers' certificates.
  std::string certificate;  // Ours, then those between it and the root; empty: none is shown.
  std::string key;

  friend bool operator==(const ClientIdentity&, const ClientIdentity&) = default;
};

// The identity of new connections; those that are there keep theirs.
using Identities = Reloaded<Identity>;

// Makes OpenSSL ready. To be called before whatever starts threads that outlive main: at the end of the process OpenSSL
// is cleaned up after what was made later, so that these threads end first and free what they hold of it.
void Init();

// A context of OpenSSL for a server: TLS 1.2 or newer, no renegotiation, HTTP/1.1 where the client asks by ALPN.
// InvalidArgument saying which part is no PEM, that key and certificate do not belong together, or that a CA is
// missing. Nothing of the key is in the text.
Result<std::shared_ptr<SSL_CTX>> MakeServerContext(const Identity& identity);

// Told which certificate of a server is not believed, and why. On the thread of the handshake.
using OnDistrust = std::function<void(const std::string& why)>;

// Makes a context of OpenSSL trust nobody but this CA, speak TLS 1.2 or newer, and show the certificate when there is
// one. The caller's library checks the server's name. `on_distrust` outlives the context; null: nobody is told. Errors
// as above.
Status UseAsClient(const ClientIdentity& identity, SSL_CTX* context, const OnDistrust* on_distrust = nullptr);

// The authorities that this system trusts, as PEM text: of the first of these files that is there. NotFound naming
// them all.
Result<std::string> ReadSystemAuthorities();

}  // namespace longshore::tls
