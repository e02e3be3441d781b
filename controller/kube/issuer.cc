#include "controller/kube/issuer.h"

#include <utility>

#include "common/json/path.h"
#include "common/os/log.h"

namespace longshore::kube {
namespace {

constexpr std::chrono::minutes kRefreshInterval{5};
constexpr std::chrono::seconds kRefreshIntervalMin{1};  // Minimum time between two reads of the keys.

}  // namespace

Result<std::unique_ptr<Issuer>> Issuer::Start(std::unique_ptr<Api> api, const Clock& clock) {
  std::unique_ptr<Issuer> issuer(new Issuer(std::move(api), clock));
  RETURN_IF_ERROR(issuer->Read());
  issuer->thread_ = std::thread([raw = issuer.get()] { raw->ReadAgain(); });
  return issuer;
}

Issuer::~Issuer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  api_->Cancel();
  if (thread_.joinable()) thread_.join();
}

Status Issuer::Read() {
  ASSIGN_OR_RETURN(const std::string answer, api_->Send({.target = "/openid/v1/jwks"}));
  ASSIGN_OR_RETURN(const Json key_set, ParseJson(answer));
  ASSIGN_OR_RETURN(auth::IssuerKeys keys, auth::IssuerKeys::Parse(key_set));
  // Without this document, tokens of nodes can still be verified.
  const auto described = api_->Send({.target = "/.well-known/openid-configuration"}).and_then(ParseJson);
  if (!described) spdlog::warn("cannot read the name of the tokens' issuer: {}", described.error().message);
  const std::lock_guard lock(mutex_);
  std::string known = published_ ? published_->name : "";
  published_ = std::make_shared<const Published>(
      Published{std::move(keys), described ? TextAt(*described, {"issuer"}) : std::move(known)});
  return {};
}

void Issuer::ReadAgain() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, kRefreshInterval, [this] { return stopping_ || is_refresh_wanted_; });
    if (stopping_) return;
    is_refresh_wanted_ = false;
    lock.unlock();
    const Status read = Read();
    if (!read) spdlog::warn("cannot read the keys of tokens, so the old ones stay valid: {}", read.error().message);
    lock.lock();
    wake_.wait_for(lock, kRefreshIntervalMin, [this] { return stopping_; });
  }
}

// Requests another read if the token's key is not known: its owner will retry, and the new keys may include the key.
std::shared_ptr<const Issuer::Published> Issuer::PublishedFor(std::string_view token) {
  const std::string id = auth::KeyIdOf(token);
  const std::lock_guard lock(mutex_);
  if (!id.empty() && !published_->keys.Has(id)) {
    is_refresh_wanted_ = true;
    wake_.notify_all();
  }
  return published_;
}

Result<Json> Issuer::Verify(std::string_view authorization, const std::string& audience, Accepted accepted) {
  constexpr std::string_view kBearer = "Bearer ";
  if (!authorization.starts_with(kBearer))
    return Fail(Code::kUnauthenticated, "a token must be sent as \"Bearer TOKEN\"");
  const std::string_view token = authorization.substr(kBearer.size());
  const auto published = PublishedFor(token);
  const bool any_name = accepted == Accepted::kAnyName;
  if (!any_name && published->name.empty())
    return Fail(Code::kUnauthenticated, "the API server does not publish the name of the issuer");
  return auth::VerifyJwt(token, published->keys, {.audience = audience, .issuer = any_name ? "" : published->name},
                         clock_.Now());
}

}  // namespace longshore::kube
