// Who a node is by the token that is projected into its pod.
//
// The token is for the controller alone (its audience), and no credential of the API. Its signature is checked against
// the keys that the API server publishes, which every service account may read, so nobody has to be asked about it.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "common/auth/jwt.h"
#include "common/clock.h"
#include "common/error.h"
#include "controller/kube/api.h"

namespace longshore::fleet {

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
    std::string fleet_uid;  // As in Pod.
    std::string node;
  };
  // The node that a pod is which is there now; nullopt when there is none of this uid.
  using NodeOf = std::function<std::optional<Node>(const PodName& pod)>;

  // Unavailable when the keys cannot be read now. Later they are read again every few minutes, and when a token names
  // one that is not known.
  static Result<std::unique_ptr<NodeTokens>> Start(std::unique_ptr<kube::Api> api, const Clock& clock, NodeOf node_of);
  ~NodeTokens();

  // By the header Authorization: "Bearer TOKEN". Never waits. Unauthenticated with what is wrong.
  Result<Node> Identify(std::string_view authorization);

 private:
  NodeTokens(std::unique_ptr<kube::Api> api, const Clock& clock, NodeOf node_of)
      : api_(std::move(api)), clock_(clock), node_of_(std::move(node_of)) {}

  Status ReadKeys();
  void ReadKeysAgainAndAgain();

  const std::unique_ptr<kube::Api> api_;
  const Clock& clock_;
  const NodeOf node_of_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::shared_ptr<const auth::IssuerKeys> keys_;  // Guarded by the mutex, as are:
  bool wanted_ = false;                           // A key is missing.
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace longshore::fleet
