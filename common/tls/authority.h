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
};

// Whom a certificate names. Clients look at the alternative names only.
struct Subject {
  std::string name;                      // Common name, for people.
  std::vector<std::string> dns_names{};  // "localhost"
  std::vector<std::string> addresses{};  // "127.0.0.1"
};

// Signed by itself; may sign others, but no further authority.
Result<KeyPair> MakeAuthority(const std::string& name, std::chrono::hours lifetime);

// With a new key; for servers and clients. InvalidArgument when the authority's texts are none or do not belong
// together, or a name is none.
Result<KeyPair> Issue(const KeyPair& authority, const Subject& subject, std::chrono::hours lifetime);

// When the certificate ends. InvalidArgument when a text is none, or they do not belong together.
Result<TimePoint> ValidUntil(const KeyPair& pair);

}  // namespace longshore::tls
