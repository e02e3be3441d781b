// The identity of a client, as far as a listener verified it.
#pragma once

#include <memory>
#include <string>

#include "common/json/json.h"

namespace longshore::auth {

struct Caller {
  std::string client;                  // The client's name in the file of tokens; "" if it sent no token of the file.
  std::shared_ptr<const Json> claims;  // The claims of its verified JSON Web Token, an object; null if it sent none.
};

}  // namespace longshore::auth
