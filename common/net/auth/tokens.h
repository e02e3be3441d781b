// Bearer tokens, by which a listener recognises the clients that may call it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/base/sha256.h"
#include "common/net/auth/caller.h"
#include "common/os/reloaded.h"

namespace longshore::auth {

inline constexpr size_t kTokensMax = 1000;
inline constexpr size_t kTokenBytesMin = 16;
inline constexpr size_t kTokenBytesMax = 4096;

class JwtVerifier;

// A set of tokens. Keeps only their hashes.
class Tokens {
 public:
  // Parses one token per line: a name, blanks, the token and, optionally, blanks and its scopes, separated by commas:
  // "predict", "admin" or both. A token without scopes has all of them. Ignores empty lines and lines that begin with
  // #. Returns InvalidArgument if a line is malformed, a name or a token is repeated, a token is too short or too long,
  // or the text has no token. The message names the line by its number, and never shows its content.
  static Result<Tokens> Parse(std::string_view text);

  // Returns the client with this token; nullopt if the token is not in the set. Takes the same time for every token of
  // a given length, so that the time reveals nothing about the valid tokens.
  std::optional<Caller> ClientOf(std::string_view token) const;

  friend bool operator==(const Tokens&, const Tokens&) = default;

 private:
  struct Entry {
    std::string name;
    Sha256Bytes hash;
    Scope scope;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  Status Add(const Entry& entry, size_t number);

  std::vector<Entry> entries_;
};

// Reads the tokens from a file, which is read again when it changes. Error messages begin with `flag`.
Result<std::shared_ptr<const Reloaded<Tokens>>> OpenTokens(const std::string& flag, const Path& file);

// Admits calls to a listener by their tokens. Thread-safe.
//
// - With a set of tokens, a call needs a token of the set, and this token needs the scope of what the call does. If
//   there is a verifier too, a JSON Web Token that it accepts will do instead. Such a token has the scope kAdmin if its
//   claim "scope" (RFC 8693: names that are separated by blanks) contains "admin", and kPredict otherwise.
// - With a verifier only, a call needs no token, and no scope is checked. But a call with a JSON Web Token that the
//   verifier does not accept is refused.
class Gate {
 public:
  // Either may be null, but not both.
  explicit Gate(std::shared_ptr<const Reloaded<Tokens>> tokens, std::shared_ptr<const JwtVerifier> jwts = nullptr)
      : tokens_(std::move(tokens)), jwts_(std::move(jwts)) {}

  // `authorization` is the value of the header "authorization": "Bearer TOKEN"; `needed` is the scope of the call. The
  // error is PermissionDenied if the token is valid and lacks the scope, and otherwise Unauthenticated. The latter says
  // what is wrong with a JSON Web Token, and has the same text in all other cases.
  Status Admit(std::string_view authorization, Scope needed = Scope::kPredict) const;

  // Returns the identity of a client whose call has this header. The error is Unauthenticated, as in Admit: a token can
  // expire, or its key can be removed, after the call was admitted.
  Result<Caller> CallerOf(std::string_view authorization) const;

 private:
  const std::shared_ptr<const Reloaded<Tokens>> tokens_;
  const std::shared_ptr<const JwtVerifier> jwts_;
};

// Reads a file with a single token, as Kubernetes mounts it, without the line break at its end. Returns InvalidArgument
// if the file is empty.
Result<std::string> ReadToken(const Path& file);

// The value of the header "authorization" for a client of a listener that has a Gate: "Bearer " and the first token of
// the file. The file is read again when it changes.
using Authorization = Reloaded<std::string>;
Result<std::shared_ptr<Authorization>> OpenAuthorization(const std::string& flag, const Path& file);

}  // namespace longshore::auth
