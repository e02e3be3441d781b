// Creates certificate authorities (CAs) and certificates that they sign.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"

namespace longshore::tls {

// A certificate and its private key, a P-256 key, as PEM texts.
struct KeyPair {
  std::string certificate;
  std::string key;

  friend bool operator==(const KeyPair&, const KeyPair&) = default;
};

// The names in a certificate. Clients verify only the alternative names.
struct Subject {
  std::string name;                      // Common name, for people only.
  std::vector<std::string> dns_names{};  // "localhost"
  std::vector<std::string> addresses{};  // "127.0.0.1"
  std::vector<std::string> uris{};       // "spiffe://longshore.internal/..."
};

// Creates a self-signed CA. It may sign certificates, but no further CAs.
Result<KeyPair> MakeAuthority(const std::string& name, std::chrono::hours lifetime);

// Creates a key and a certificate for it, for servers and clients. The certificate expires with the CA at the latest.
// Returns InvalidArgument if the CA's texts are malformed or do not belong together, or if a name is not valid.
Result<KeyPair> Issue(const KeyPair& authority, const Subject& subject, std::chrono::hours lifetime);

// Like Issue, for a key that only the sender of the request has (request.h). Returns the certificate as PEM text. Uses
// only the key of the request and ignores the names in it. Returns the same errors as Issue, and InvalidArgument also
// if the request is malformed or too long, or if its key is not a P-256 key or has not signed it.
Result<std::string> Sign(const KeyPair& authority, const std::string& request, const Subject& subject,
                         std::chrono::hours lifetime);

struct Validity {
  TimePoint from;
  TimePoint until;

  friend bool operator==(const Validity&, const Validity&) = default;
};
// Returns the period in which the certificate is valid. Returns InvalidArgument if a text is malformed, or if the key
// does not belong to the certificate.
Result<Validity> ValidityOf(const KeyPair& pair);
// The same for the first certificate of a PEM text, whose key is not known.
Result<Validity> ValidityOfCertificate(const std::string& pem);

}  // namespace longshore::tls
