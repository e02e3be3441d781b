// Verifies the JSON Web Tokens of clients with the keys of a file.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "common/base/sha256.h"
#include "common/net/auth/jwt.h"
#include "common/os/reloaded.h"

namespace longshore::auth {

// A key set and the text from which it was read, by which a change is found.
struct KeyFile {
  std::string text;
  IssuerKeys keys;

  friend bool operator==(const KeyFile& a, const KeyFile& b) { return a.text == b.text; }
};

// Thread-safe.
class JwtVerifier {
 public:
  // How many verified tokens are remembered, so that a client that sends its token with each request costs one
  // verification.
  static constexpr size_t kRememberedMax = 1000;

  // Reads a JSON Web Key Set from a file, which is read again when it changes. Error messages begin with `flag`.
  static Result<std::shared_ptr<const JwtVerifier>> Open(const std::string& flag, const Path& file, JwtTerms terms,
                                                         std::shared_ptr<const Clock> clock);
  JwtVerifier(std::shared_ptr<const Reloaded<KeyFile>> keys, JwtTerms terms, std::shared_ptr<const Clock> clock)
      : keys_(std::move(keys)), terms_(std::move(terms)), clock_(std::move(clock)) {}

  // Returns the claims of the token, an object; errors are those of VerifyJwt.
  Result<std::shared_ptr<const Json>> Verify(std::string_view token) const;

 private:
  struct Verified {
    std::shared_ptr<const KeyFile> keys;  // With which the token was verified.
    TimePoint end;
    std::shared_ptr<const Json> claims;
  };
  std::shared_ptr<const Json> Remembered(const Sha256Bytes& hash, const std::shared_ptr<const KeyFile>& keys) const;
  void Remember(const Sha256Bytes& hash, Verified verified) const;

  const std::shared_ptr<const Reloaded<KeyFile>> keys_;
  const JwtTerms terms_;
  const std::shared_ptr<const Clock> clock_;
  mutable std::mutex mutex_;                          // Guards verified_.
  mutable std::map<Sha256Bytes, Verified> verified_;  // By hash of the token. Cleared when it would exceed the maximum.
};

}  // namespace longshore::auth
