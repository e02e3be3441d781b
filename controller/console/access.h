// Decides which requests may read the console and which may give commands in it. No I/O.
//
//   request -> Host is known? -> path and method -> token -> right that its owner has
//                 421                405           401, 429      403
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/json/json.h"
#include "common/net/auth/tokens.h"
#include "common/net/http/types.h"

namespace longshore::console {

// kCommand includes kRead.
enum class Right { kRead, kCommand };

struct Person {
  std::string name;  // The name of the token; "" without a token.
  Right right = Right::kRead;

  friend bool operator==(const Person&, const Person&) = default;
};

// Returns the owner of the token. `authorization` is the value of the header, and not empty. Errors: Unauthenticated
// if the token is not valid, PermissionDenied if its owner may not use the console, ResourceExhausted if there were too
// many wrong tokens. Called on any thread; must not block.
using Identify = std::function<Result<Person>(std::string_view authorization)>;

struct Access {
  Identify identify{};           // Empty: no token is known, so all commands are refused.
  std::string how_to_sign_in{};  // A sentence for people: where they get a token.
};

// Returns who sent the request, if this person has the right. Errors as for Identify; also Unauthenticated if a token
// is missing.
Result<Person> Admit(const http::Request& head, const Access& access, Right needed, bool reading_needs_token);

// Whether a request that changes something comes from a page of the console itself, or from no browser.
//
// A page of another site cannot read the token, so it cannot send one. This is a second protection: browsers send the
// site of the page in the header Origin, and a page of another site cannot send JSON without the permission of the
// console, which never gives it.
Status CheckOrigin(const http::Request& head);

// Identifies people by the tokens of a file: the scope admin may give commands, predict may read. After
// kWrongTokensMax wrong tokens within kWrongTokensPer all tokens are refused until the minute has passed.
Identify ByTokens(std::shared_ptr<const Reloaded<auth::Tokens>> tokens, const MonotonicClock& clock);
inline constexpr size_t kWrongTokensMax = 10;
inline constexpr std::chrono::minutes kWrongTokensPer{1};

// What each subject of a JSON Web Token may do.
using Subjects = std::map<std::string, Right>;

// Returns the person for whom the token was issued. `claims`: those of a verified token.
Result<Person> PersonOf(const Json& claims, const Subjects& subjects);

}  // namespace longshore::console
