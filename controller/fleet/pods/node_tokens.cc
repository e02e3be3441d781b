#include "controller/fleet/pods/node_tokens.h"

#include "common/json/path.h"
#include "controller/fleet/pods/manifests.h"

namespace longshore::fleet::pods {

Result<NodeTokens::Node> NodeTokens::Identify(std::string_view authorization) const {
  ASSIGN_OR_RETURN(const Json claims, issuer_.Verify(authorization, kTokenAudience, kube::Issuer::Accepted::kAnyName));
  const PodName pod{TextAt(claims, {"kubernetes.io", "namespace"}), TextAt(claims, {"kubernetes.io", "pod", "name"}),
                    TextAt(claims, {"kubernetes.io", "pod", "uid"})};
  if (pod.uid.empty()) return Fail(Code::kUnauthenticated, "the token does not belong to a pod");
  auto node = node_of_(pod);
  if (!node) return Fail(Code::kUnauthenticated, "pod {}/{} is not a node of a fleet", pod.namespace_, pod.name);
  return std::move(*node);
}

}  // namespace longshore::fleet::pods
