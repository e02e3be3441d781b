#include "common/net/auth/jwt_verifier.h"

#include <utility>

#include "common/os/file.h"

namespace longshore::auth {
namespace {

constexpr size_t kKeyFileBytesMax = size_t{1} << 20;
constexpr auto kKeyFileReadInterval = std::chrono::seconds(1);

Result<KeyFile> ReadKeys(const Path& file) {
  ASSIGN_OR_RETURN(std::string text, ReadFile(file, kKeyFileBytesMax));
  const auto json = ParseJson(text);
  if (!json) return Prefixed(json.error(), file.string());
  auto keys = IssuerKeys::Parse(*json);
  if (!keys) return Prefixed(keys.error(), file.string());
  return KeyFile{std::move(text), std::move(*keys)};
}

}  // namespace

Result<std::shared_ptr<const JwtVerifier>> JwtVerifier::Open(const std::string& flag, const Path& file, JwtTerms terms,
                                                             std::shared_ptr<const Clock> clock) {
  const auto read = [flag, file]() -> Result<KeyFile> {
    auto keys = ReadKeys(file);
    if (!keys) return Prefixed(keys.error(), flag);
    return keys;
  };
  ASSIGN_OR_RETURN(auto keys, Reloaded<KeyFile>::Start(flag, read, kKeyFileReadInterval));
  return std::make_shared<const JwtVerifier>(std::move(keys), std::move(terms), std::move(clock));
}

Result<std::shared_ptr<const Json>> JwtVerifier::Verify(std::string_view token) const {
  if (token.size() > kJwtBytesMax)
    return Fail(Code::kUnauthenticated, "the token has more than {} KiB", kJwtBytesMax >> 10);
  const auto keys = keys_->current();
  const Sha256Bytes hash = Sha256(token);
  if (auto claims = Remembered(hash, keys)) return claims;
  ASSIGN_OR_RETURN(Json verified, VerifyJwt(token, keys->keys, terms_, clock_->Now()));
  auto claims = std::make_shared<const Json>(std::move(verified));
  Remember(hash, {keys, EndOf(*claims), claims});
  return claims;
}

std::shared_ptr<const Json> JwtVerifier::Remembered(const Sha256Bytes& hash,
                                                    const std::shared_ptr<const KeyFile>& keys) const {
  const std::lock_guard lock(mutex_);
  const auto found = verified_.find(hash);
  const bool valid = found != verified_.end() && found->second.keys == keys && clock_->Now() < found->second.end;
  return valid ? found->second.claims : nullptr;
}

void JwtVerifier::Remember(const Sha256Bytes& hash, Verified verified) const {
  const std::lock_guard lock(mutex_);
  if (verified_.size() >= kRememberedMax) verified_.clear();
  verified_[hash] = std::move(verified);
}

}  // namespace longshore::auth
