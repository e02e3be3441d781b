// One API server: requests of ours, with what every one of them needs (who we are, the rate limit, errors as values).
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

#include "common/clock.h"
#include "common/error.h"
#include "common/http_client/client.h"
#include "common/json/json.h"
#include "controller/kube/cluster.h"
#include "controller/kube/rate_limit.h"

namespace longshore::kube {

struct ApiOptions {
  double requests_per_second = 200;
  double burst = 400;
  std::chrono::milliseconds request_silence_max{15'000};
  std::chrono::milliseconds watch_silence_max{90'000};  // Bookmarks come about once a minute.
  // Asked directly before a request that may change something is sent: not when it begins to wait for its turn. Empty:
  // it may. Thread-safe.
  std::function<bool()> may_write{};
  // Requested: nobody waits for a turn any more, and nothing is sent: Cancelled. What is under way gets its answer.
  std::stop_token stopped{};
};

struct Call {
  std::string method = "GET";
  std::string target{};  // Path and query.
  std::string body{};
  std::string content_type = "application/json";
};
inline constexpr const char* kApplyPatch = "application/apply-patch+yaml";  // JSON is YAML.
inline constexpr const char* kMergePatch = "application/merge-patch+json";

// What the API server says instead of an answer: {"kind": "Status", "reason": ..., "message": ...}.
struct Refusal {
  int status = 0;
  std::string reason;  // "AlreadyExists", "Conflict", "Expired", ...; "" when the answer was none of an API server.
  std::string message;
  std::optional<Duration> retry_after;
};

// Thread-safe.
class Api {
 public:
  static Result<std::unique_ptr<Api>> Make(Cluster cluster, const ApiOptions& options, const MonotonicClock& clock);

  // Waits for its turn and for the answer, and gives its body. Refused:
  //   NotFound 404, AlreadyExists and Aborted 409, OutOfRange 410 (a version is too old), InvalidArgument 400 and 422,
  //   PermissionDenied 403, Unauthenticated 401 also with a token that was read again, ResourceExhausted 429 and 413,
  //   Unavailable 5xx and whatever kept an answer from coming; then the request may have been carried out.
  // FailedPrecondition, and not sent, when it may not write.
  Result<std::string> Send(const Call& call);

  // Reads an answer line by line until it ends or on_line fails. Errors as Send's. `refusal` is told what a refusal
  // said.
  Status Watch(const std::string& target, const std::function<Status(std::string_view line)>& on_line,
               std::optional<Refusal>* refusal);

  // Ends what is under way and all that comes later, with Cancelled.
  void Cancel();

  const Cluster& cluster() const { return cluster_; }

 private:
  Api(Cluster cluster, const ApiOptions& options, const MonotonicClock& clock)
      : cluster_(std::move(cluster)),
        clock_(clock),
        may_write_(options.may_write),
        limit_(options.requests_per_second, options.burst),
        on_stop_(options.stopped, [this] { EndWaiting(); }) {}

  void EndWaiting();
  Status WaitForTurn();
  Result<http_client::Request> RequestOf(const Call& call, bool refused);
  void NoteRefusal(const Refusal& refusal);

  const Cluster cluster_;
  const MonotonicClock& clock_;
  const std::function<bool()> may_write_;
  std::unique_ptr<http_client::Client> requests_;
  std::unique_ptr<http_client::Client> watches_;
  std::mutex mutex_;
  std::condition_variable cancelled_;
  bool is_cancelled_ = false;  // Guarded by the mutex, as is:
  RateLimit limit_;
  const std::stop_callback<std::function<void()>> on_stop_;  // Last: it uses the rest.
};

Refusal RefusalOf(const http_client::Response& response);
Error ErrorOf(const Refusal& refusal, const std::string& what);

}  // namespace longshore::kube
