// The identity of a client, as far as a listener verified it.
#pragma once

#include <memory>
#include <string>

#include "common/json/json.h"

namespace longshore::auth {

// What a token allows. Each scope includes the ones before it.
enum class Scope {
  kPredict,  // Predictions, and reading: the status and the metadata of models, the administration pages.
  kAdmin,    // Changing what the node serves or how it works: reloads, the log level, profiles.
};

struct Caller {
  std::string client;                  // The client's name in the file of tokens; "" if it sent no token of the file.
  std::shared_ptr<const Json> claims;  // The claims of its verified JSON Web Token, an object; null if it sent none.
  Scope scope = Scope::kPredict;       // What its token allows.
};

}  // namespace longshore::auth
