#include "controller/fleet/pods/node_tokens.h"

#include <utility>

#include "common/json/path.h"
#include "common/os/log.h"
#include "controller/fleet/pods/manifests.h"

namespace longshore::fleet::pods {
namespace {

constexpr std::chrono::minutes kRefreshInterval{5};
constexpr std::chrono::seconds kRefreshIntervalMin{1};  // Minimum time between two reads of the keys.

}  // namespace

Result<std::unique_ptr<NodeTokens>> NodeTokens::Start(std::unique_ptr<kube::Api> api, const Clock& clock,
                                                      NodeOf node_of) {
  std::unique_ptr<NodeTokens> tokens(new NodeTokens(std::move(api), clock, std::move(node_of)));
  RETURN_IF_ERROR(tokens->ReadKeys());
  tokens->thread_ = std::thread([raw = tokens.get()] { raw->RefreshKeys(); });
  return tokens;
}

NodeTokens::~NodeTokens() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  api_->Cancel();
  if (thread_.joinable()) thread_.join();
}

Status NodeTokens::ReadKeys() {
  ASSIGN_OR_RETURN(const std::string answer, api_->Send({.target = "/openid/v1/jwks"}));
  ASSIGN_OR_RETURN(const Json key_set, ParseJson(answer));
  ASSIGN_OR_RETURN(auth::IssuerKeys keys, auth::IssuerKeys::Parse(key_set));
  const std::lock_guard lock(mutex_);
  keys_ = std::make_shared<const auth::IssuerKeys>(std::move(keys));
  return {};
}

void NodeTokens::RefreshKeys() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, kRefreshInterval, [this] { return stopping_ || is_refresh_wanted_; });
    if (stopping_) return;
    is_refresh_wanted_ = false;
    lock.unlock();
    const Status read = ReadKeys();
    if (!read)
      spdlog::warn("cannot read the keys of the nodes' tokens, so the old ones stay valid: {}", read.error().message);
    lock.lock();
    wake_.wait_for(lock, kRefreshIntervalMin, [this] { return stopping_; });
  }
}

Result<NodeTokens::Node> NodeTokens::Identify(std::string_view authorization) {
  constexpr std::string_view kBearer = "Bearer ";
  if (!authorization.starts_with(kBearer))
    return Fail(Code::kUnauthenticated, "a node must send its token as \"Bearer TOKEN\"");
  const std::string_view token = authorization.substr(kBearer.size());
  std::shared_ptr<const auth::IssuerKeys> keys;
  {
    const std::lock_guard lock(mutex_);
    keys = keys_;
    const std::string id = auth::KeyIdOf(token);
    // Requests another read of the keys: the node will retry, and the new keys may include the key of its token.
    if (!id.empty() && !keys->Has(id)) is_refresh_wanted_ = true;
  }
  wake_.notify_all();
  ASSIGN_OR_RETURN(const Json claims, auth::VerifyJwt(token, *keys, {.audience = kTokenAudience}, clock_.Now()));
  const PodName pod{TextAt(claims, {"kubernetes.io", "namespace"}), TextAt(claims, {"kubernetes.io", "pod", "name"}),
                    TextAt(claims, {"kubernetes.io", "pod", "uid"})};
  if (pod.uid.empty()) return Fail(Code::kUnauthenticated, "the token does not belong to a pod");
  auto node = node_of_(pod);
  if (!node) return Fail(Code::kUnauthenticated, "pod {}/{} is not a node of a fleet", pod.namespace_, pod.name);
  return std::move(*node);
}

}  // namespace longshore::fleet::pods
