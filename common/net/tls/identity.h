// The certificates and trusted CAs of TLS servers and clients. Only this folder, common/net/http and common/net/http2
// use OpenSSL for TLS.
#pragma once

#include <openssl/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/os/reloaded.h"

namespace longshore::tls {

// The identity of a server. All texts are PEM.
struct Identity {
  std::string certificate;  // The server's certificate, followed by the intermediate ones.
  std::string key;
  std::string client_ca;  // The CAs of the clients' certificates. Required if clients are verified.
  bool verify_client = false;

  friend bool operator==(const Identity&, const Identity&) = default;
};

// The identity of a client. All texts are PEM.
struct ClientIdentity {
  std::string server_ca;    // The CAs of the servers' certificates.
  std::string certificate;  // The client's certificate, followed by the intermediate ones; empty: none is sent.
  std::string key;

  friend bool operator==(const ClientIdentity&, const ClientIdentity&) = default;
};

// The identity of new connections; existing connections keep theirs.
using Identities = Reloaded<Identity>;

// Initialises OpenSSL. Must be called before any library starts threads that outlive main. Then the exit handler of
// such a library runs before the one of OpenSSL, because exit handlers run in reverse order: the threads end and
// release their OpenSSL objects before OpenSSL cleans up.
void Init();

// The protocol that a server offers by ALPN (RFC 7301).
enum class Protocol { kHttp1, kHttp2 };

// Creates OpenSSL's context for a server: TLS 1.2 or newer, no renegotiation, and this protocol if the client uses
// ALPN. Returns InvalidArgument if a text is not PEM, if key and certificate do not belong together, or if a CA is
// missing. The message contains nothing of the key.
Result<std::shared_ptr<SSL_CTX>> MakeServerContext(const Identity& identity, Protocol protocol = Protocol::kHttp1);

// Returns the DNS names of the client's certificate; none if it has no certificate or the server has not verified it.
std::vector<std::string> VerifiedDnsNames(const SSL* connection);

// Called on the thread of the handshake if a server's certificate fails verification. `why` contains the name of the
// certificate and the reason.
using OnVerifyFailure = std::function<void(const std::string& why)>;

// Configures OpenSSL's context for a client: it trusts only the CAs of the identity, uses TLS 1.2 or newer, and sends
// the client's certificate, if there is one. The caller's library must verify the server's name. `on_verify_failure`
// must outlive the context; it may be null. Returns the same errors as MakeServerContext.
Status UseAsClient(const ClientIdentity& identity, SSL_CTX* context,
                   const OnVerifyFailure* on_verify_failure = nullptr);

// Returns the CAs that this system trusts, as PEM text: the first file that exists of those that Linux distributions
// use. Returns NotFound, with the names of all these files, if none exists.
Result<std::string> ReadSystemCas();

}  // namespace longshore::tls
