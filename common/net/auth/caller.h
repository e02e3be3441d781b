// The identity of a client, as far as a listener verified it.
#pragma once

#include <memory>
#include <string>

#include "common/json/json.h"

namespace longshore::auth {

// What a token allows. kAdmin includes kPredict.
enum class Scope {
  kPredict,  // To predict, and to read the status and the metadata of models and the administration pages.
  kAdmin,    // To change what the node serves or how it works: to reload models, set the log level, record profiles.
};

struct Caller {
  std::string client;                  // The client's name in the file of tokens; "" if it sent no token of the file.
  std::shared_ptr<const Json> claims;  // The claims of its verified JSON Web Token, an object; null if it sent none.
  Scope scope = Scope::kPredict;       // What its token allows.
};

}  // namespace longshore::auth
