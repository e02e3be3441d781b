// The flags of bearer tokens: files with the tokens that callers must send.
#pragma once

#include <string>

#include "common/base/error.h"
#include "common/base/path.h"

namespace CLI {
class App;
}

namespace longshore::app::flags {

struct AuthFlags {
  Path auth_tokens_file;  // Tokens of clients, for gRPC, REST and the admin port; "": no token is needed.
  Path peer_tokens_file;  // Tokens between the nodes of a fleet.
  Path jwt_jwks_file;     // Keys of the issuer of clients' JSON Web Tokens; "": such tokens are not verified.
  std::string jwt_issuer;
  std::string jwt_audience;

  // The name of a flag by which the node finds out which client sent a request; null if none is given.
  const char* identifying_flag() const;
  void AddTo(CLI::App& app);
  // Returns InvalidArgument if a flag that these flags need is missing. `peers`: this node has a --peer_address.
  Status Check(bool peers) const;
};

}  // namespace longshore::app::flags
