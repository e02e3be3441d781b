// Bearer tokens: who may call.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "common/reloaded.h"
#include "common/sha256.h"

namespace longshore::auth {

inline constexpr size_t kTokensMax = 1000;
inline constexpr size_t kTokenBytesMin = 16;
inline constexpr size_t kTokenBytesMax = 4096;

// What is known of the tokens: their hashes, never themselves.
class Tokens {
 public:
  // One per line: a name, blanks, the token. Lines that are empty or begin with # say nothing. InvalidArgument with the
  // number of the line, and never its content, when a line is something else, a name or a token comes twice, a token
  // is too short or there is none.
  static Result<Tokens> Parse(std::string_view text);

  // Takes as long for a token that is nearly right as for any other of its length.
  bool Know(std::string_view token) const;

  friend bool operator==(const Tokens&, const Tokens&) = default;

 private:
  struct Entry {
    std::string name;
    Sha256Bytes hash;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  Status Add(const Entry& entry, size_t number);

  std::vector<Entry> entries_;
};

// The gate of a listener. Thread-safe.
class Gate {
 public:
  // Tokens of a file that is read again when it changes. Errors begin with the flag.
  static Result<std::shared_ptr<const Gate>> Open(const std::string& flag, const Path& file);
  explicit Gate(std::shared_ptr<const Reloaded<Tokens>> tokens) : tokens_(std::move(tokens)) {}

  // By the value of the header Authorization: "Bearer TOKEN". Unauthenticated, always with the same text.
  Status Admit(std::string_view authorization) const;

 private:
  const std::shared_ptr<const Reloaded<Tokens>> tokens_;
};

// The one token that a file holds, as Kubernetes mounts it: all but the end of its line. InvalidArgument when it is
// empty.
Result<std::string> ReadToken(const Path& file);

// What a client of such a gate sends: "Bearer " and the file's first token, read again when it changes.
using Authorization = Reloaded<std::string>;
Result<std::shared_ptr<Authorization>> OpenAuthorization(const std::string& flag, const Path& file);

}  // namespace longshore::auth
