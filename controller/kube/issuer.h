// Verifies tokens of service accounts with the keys that the API server publishes.
//
// Every service account may read these keys, so this needs no permission. In particular it needs no TokenReview, and
// works for tokens whose audience is not the API server.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/json/json.h"
#include "common/net/auth/jwt.h"
#include "controller/kube/api.h"

namespace longshore::kube {

// Thread-safe.
class Issuer {
 public:
  // Which tokens are accepted. kAnyName: tokens that a key of the API server has signed. kItsName: their claim "iss"
  // must also be the issuer that the API server names, so a token with an earlier name of the issuer is refused.
  enum class Accepted { kAnyName, kItsName };

  // Returns Unavailable if the keys cannot be read. Later they are read again every few minutes, and when a token names
  // an unknown key.
  static Result<std::unique_ptr<Issuer>> Start(std::unique_ptr<Api> api, const Clock& clock);
  ~Issuer();
  Issuer(const Issuer&) = delete;
  Issuer& operator=(const Issuer&) = delete;

  // Returns the claims of the token. `authorization` is the value of the header: "Bearer TOKEN". Never waits. Returns
  // Unauthenticated, with the reason, if the token is not valid now for this audience.
  Result<Json> Verify(std::string_view authorization, const std::string& audience, Accepted accepted);

 private:
  struct Published {
    auth::IssuerKeys keys;
    std::string name;  // "": the API server publishes none.
  };

  Issuer(std::unique_ptr<Api> api, const Clock& clock) : api_(std::move(api)), clock_(clock) {}

  Status Read();
  void ReadAgain();
  std::shared_ptr<const Published> PublishedFor(std::string_view token);

  const std::unique_ptr<Api> api_;
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::shared_ptr<const Published> published_;  // Guarded by the mutex, like the next two members.
  bool is_refresh_wanted_ = false;              // Whether a token named a key that is not published.
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace longshore::kube
