// The flags of bearer tokens: files with the tokens that callers must send.
#pragma once

#include "common/base/error.h"
#include "common/base/path.h"

namespace CLI {
class App;
}

namespace longshore::app::flags {

struct AuthFlags {
  Path auth_tokens_file;  // Tokens of clients, for gRPC, REST and the admin port; "": no token is needed.
  Path peer_tokens_file;  // Tokens between the nodes of a fleet.

  void AddTo(CLI::App& app);
  // Returns InvalidArgument if a flag that these flags need is missing. `peers`: this node has a --peer_address.
  Status Check(bool peers) const;
};

}  // namespace longshore::app::flags
