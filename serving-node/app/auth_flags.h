// Bearer tokens: the files that say who may call.
#pragma once

#include "common/error.h"
#include "common/file.h"

namespace CLI {
class App;
}

namespace longshore::app {

struct AuthFlags {
  Path auth_tokens_file;  // Of clients, for gRPC, REST and administration; "": everybody may call.
  Path peer_tokens_file;  // Of the nodes of a fleet among each other.

  void AddTo(CLI::App& app);
  // `peers`: this node listens to others.
  Status Check(bool peers) const;
};

}  // namespace longshore::app
