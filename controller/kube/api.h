// A client of one API server. Adds what every request needs: credentials, the rate limit, and errors as values.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/json/json.h"
#include "common/net/http_client/client.h"
#include "controller/kube/cluster.h"
#include "controller/kube/rate_limit.h"

namespace longshore::kube {

struct ApiOptions {
  double requests_per_second = 200;
  double burst = 400;
  std::chrono::milliseconds request_idle_max{15'000};
  std::chrono::milliseconds watch_idle_max{90'000};  // The server sends a bookmark about once a minute.
  // Whether requests other than GET may be sent. Called directly before each is sent, after the wait for the rate
  // limit. Empty: always. Thread-safe.
  std::function<bool()> may_write{};
  // After a stop is requested, requests that wait for the rate limit and new ones fail with Cancelled; requests that
  // were sent get their answers.
  std::stop_token stopped{};
};

struct Call {
  std::string method = "GET";
  std::string target{};  // Path and query.
  std::string body{};
  std::string content_type = "application/json";
};
inline constexpr const char* kApplyPatch = "application/apply-patch+yaml";  // JSON is valid YAML.
inline constexpr const char* kMergePatch = "application/merge-patch+json";

// An error answer of the API server: {"kind": "Status", "reason": ..., "message": ...}.
struct Refusal {
  int status = 0;
  std::string reason;  // "AlreadyExists", "Conflict", "Expired", ...; "" if the answer did not come from an API server.
  std::string message;
  std::optional<Duration> retry_after;
};

// Thread-safe.
class Api {
 public:
  static Result<std::unique_ptr<Api>> Make(Cluster cluster, const ApiOptions& options, const MonotonicClock& clock);

  // Waits for the rate limit and for the answer, and returns the answer's body. Errors:
  //   NotFound 404, AlreadyExists and Aborted 409, OutOfRange 410 (a version is too old), InvalidArgument 400 and 422,
  //   PermissionDenied 403, Unauthenticated 401 even after the token was read again, ResourceExhausted 429 and 413,
  //   Unavailable 5xx and if there is no answer: in both cases the server may have executed the request.
  //   FailedPrecondition if `may_write` returned false; the request was not sent.
  Result<std::string> Send(const Call& call);

  // Reads the answer line by line until it ends or `on_line` returns an error. Errors as for Send; sets `refusal` if
  // the server sent an error answer.
  Status Watch(const std::string& target, const std::function<Status(std::string_view line)>& on_line,
               std::optional<Refusal>* refusal);

  // The same for an answer that is not made of lines. `verb` is for messages: "watch", "read".
  Status Stream(const std::string& target, const std::string& verb,
                const std::function<Status(std::string_view piece)>& on_piece, std::optional<Refusal>* refusal);

  // Ends all current and later requests with Cancelled.
  void Cancel();

  const Cluster& cluster() const { return cluster_; }

 private:
  Api(Cluster cluster, const ApiOptions& options, const MonotonicClock& clock)
      : cluster_(std::move(cluster)),
        clock_(clock),
        may_write_(options.may_write),
        limit_(options.requests_per_second, options.burst),
        on_stop_(options.stopped, [this] { CancelWaits(); }) {}

  void CancelWaits();
  Status WaitForRateLimit();
  Result<http_client::Request> RequestOf(const Call& call, bool was_rejected);
  void NoteRefusal(const Refusal& refusal);

  const Cluster cluster_;
  const MonotonicClock& clock_;
  const std::function<bool()> may_write_;
  std::unique_ptr<http_client::Client> requests_;
  std::unique_ptr<http_client::Client> watches_;
  std::mutex mutex_;
  std::condition_variable cancelled_;
  bool is_cancelled_ = false;  // Guarded by the mutex, like `limit_`.
  RateLimit limit_;
  // Last, so that it is destroyed first: it uses the other members.
  const std::stop_callback<std::function<void()>> on_stop_;
};

Refusal RefusalOf(const http_client::Response& response);
Error ErrorOf(const Refusal& refusal, const std::string& what);

}  // namespace longshore::kube
