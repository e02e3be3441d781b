// Certificates made here: of an authority, and by one.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/error.h"

namespace longshore::tls {

// As PEM text. The key is of the curve P-256.
struct KeyPair {
  std::string certificate;
  std::string key;

  friend bool operator==(const KeyPair&, const KeyPair&) = default;
};

// Whom a certificate names. Clients look at the alternative names only.
struct Subject {
  std::string name;                      // Common name, for people.
  std::vector<std::string> dns_names{};  // "localhost"
  std::vector<std::string> addresses{};  // "127.0.0.1"
  std::vector<std::string> uris{};       // "spiffe://longshore.internal/..."
};

// Signed by itself; may sign others, but no further authority.
Result<KeyPair> MakeAuthority(const std::string& name, std::chrono::hours lifetime);

// With a new key; for servers and clients. Ends with the authority at the latest. InvalidArgument when the authority's
// texts are none or do not belong together, or a name is none.
Result<KeyPair> Issue(const KeyPair& authority, const Subject& subject, std::chrono::hours lifetime);

// As Issue, for a key that only who asks has (request.h): the certificate's PEM text. Nothing of the request but its
// key goes into it. InvalidArgument too when it is too long or no request, when its key is not of P-256 or did not sign
// it.
Result<std::string> Sign(const KeyPair& authority, const std::string& request, const Subject& subject,
                         std::chrono::hours lifetime);

struct Validity {
  TimePoint from;
  TimePoint until;

  friend bool operator==(const Validity&, const Validity&) = default;
};
// Of the certificate. InvalidArgument when a text is none, or they do not belong together.
Result<Validity> ValidityOf(const KeyPair& pair);

}  // namespace longshore::tls
