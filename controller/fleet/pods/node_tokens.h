// Identifies nodes by the service account tokens that are projected into their pods.
//
// The audience of these tokens is the controller, so the API server does not accept them. Their signatures are checked
// with the keys that the API server publishes; every service account may read these, so checking needs no permission.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/net/auth/jwt.h"
#include "controller/kube/api.h"

namespace longshore::fleet::pods {

struct PodName {
  std::string namespace_;
  std::string name;
  std::string uid;
};

// Thread-safe.
class NodeTokens {
 public:
  struct Node {
    std::string fleet;
    std::string fleet_uid;  // See Pod::fleet_uid.
    std::string node;
  };
  // Returns the node in this pod; nullopt if no running pod of a fleet has this name and uid.
  using NodeOf = std::function<std::optional<Node>(const PodName& pod)>;

  // Returns Unavailable if the keys cannot be read. Later they are read again every few minutes, and when a token names
  // an unknown key.
  static Result<std::unique_ptr<NodeTokens>> Start(std::unique_ptr<kube::Api> api, const Clock& clock, NodeOf node_of);
  ~NodeTokens();

  // `authorization` is the value of the header: "Bearer TOKEN". Never waits. Returns Unauthenticated, with the reason,
  // if the token does not identify a node.
  Result<Node> Identify(std::string_view authorization);

 private:
  NodeTokens(std::unique_ptr<kube::Api> api, const Clock& clock, NodeOf node_of)
      : api_(std::move(api)), clock_(clock), node_of_(std::move(node_of)) {}

  Status ReadKeys();
  void RefreshKeys();

  const std::unique_ptr<kube::Api> api_;
  const Clock& clock_;
  const NodeOf node_of_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::shared_ptr<const auth::IssuerKeys> keys_;  // Guarded by the mutex, like the next two members.
  bool is_refresh_wanted_ = false;                // Whether a token named a key that is not in `keys_`.
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace longshore::fleet::pods
