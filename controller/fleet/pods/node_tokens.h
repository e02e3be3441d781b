// Identifies nodes by the service account tokens that are projected into their pods.
//
// The audience of these tokens is the controller, so the API server does not accept them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/error.h"
#include "controller/kube/issuer.h"

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

  // `issuer` must outlive this object.
  NodeTokens(kube::Issuer& issuer, NodeOf node_of) : issuer_(issuer), node_of_(std::move(node_of)) {}

  // `authorization` is the value of the header: "Bearer TOKEN". Never waits. Returns Unauthenticated, with the reason,
  // if the token does not identify a node.
  Result<Node> Identify(std::string_view authorization) const;

 private:
  kube::Issuer& issuer_;
  const NodeOf node_of_;
};

}  // namespace longshore::fleet::pods
