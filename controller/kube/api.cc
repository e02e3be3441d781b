#include "controller/kube/api.h"

#include <charconv>
#include <utility>

#include "common/base/text.h"
#include "common/json/path.h"
#include "controller/api/apply_crds.h"
#include "controller/kube/line_splitter.h"

namespace longshore::kube {
namespace {

constexpr int kUnauthorized = 401;
constexpr size_t kBodyBytesMax = size_t{128} << 20;
constexpr size_t kLineBytesMax = size_t{16} << 20;  // A line of a watch contains one object, which has at most 1.5 MB.
constexpr std::chrono::seconds kRetryAfterMax{60};

Code CodeOf(const Refusal& refusal) {
  // The API server answers server-side apply with 500 if a value has another type than in the schema.
  if (refusal.message.find("failed to create typed patch object") != std::string::npos) return Code::kInvalidArgument;
  switch (refusal.status) {
    case 400:
    case 422: return Code::kInvalidArgument;
    case 401: return Code::kUnauthenticated;
    case 403: return Code::kPermissionDenied;
    case 404: return Code::kNotFound;
    case 409: return refusal.reason == "AlreadyExists" ? Code::kAlreadyExists : Code::kAborted;
    case 410: return Code::kOutOfRange;
    case 413:
    case 429: return Code::kResourceExhausted;
    default: return Code::kUnavailable;
  }
}

std::optional<Duration> RetryAfterOf(const http_client::Response& response) {
  const auto found = response.headers.find("retry-after");
  if (found == response.headers.end()) return std::nullopt;
  int64_t seconds = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || seconds < 0) return std::nullopt;
  return std::min<Duration>(std::chrono::seconds(seconds), kRetryAfterMax);
}

constexpr std::string_view kOwnApi = "/apis/longshore.dev/";

// An API server answers so, and not with a Status document, if it does not serve a kind of API at all.
bool IsUnknownPath(const Refusal& refusal) {
  return refusal.status == 404 && refusal.message.starts_with("404 page not found");
}

// Returns a sentence if an admission policy or an admission webhook denied the request; otherwise "". The messages are
//   ... is forbidden: ValidatingAdmissionPolicy 'images' with binding 'all' denied request: use our registry
//   admission webhook "images.example.com" denied the request: use our registry
std::string DenialOf(const std::string& message) {
  const size_t denied = message.find(" denied ");
  const size_t by = std::min(message.find("ValidatingAdmissionPolicy '"), message.find("admission webhook \""));
  constexpr std::string_view kSays = "request: ";
  const size_t says = message.find(kSays, denied);
  if (says == std::string::npos || by > denied) return "";
  const std::string denier = message.substr(by, std::min(denied, message.find(" with binding", by)) - by);
  std::string why = message.substr(says + kSays.size());
  if (why.ends_with('.')) why.pop_back();
  return fmt::format("the {} of the cluster forbids it: {}; change the manifest, or have the rule changed", denier,
                     why);
}

std::string Describe(const Call& call) { return call.method + " " + call.target.substr(0, call.target.find('?')); }

}  // namespace

Refusal RefusalOf(const http_client::Response& response) {
  Refusal refusal{response.status, "", "", RetryAfterOf(response)};
  const auto status = ParseJson(response.body);
  if (!status || !status->is_object() || status->value("kind", Json()) != "Status") {
    constexpr size_t kShownBytesMax = 200;
    refusal.message = CutText(response.body, kShownBytesMax);
    return refusal;
  }
  refusal.reason = TextAt(*status, {"reason"});
  refusal.message = TextAt(*status, {"message"});
  return refusal;
}

Error ErrorOf(const Refusal& refusal, const std::string& what) {
  if (IsUnknownPath(refusal) && what.find(kOwnApi) != std::string::npos) {
    return {Code::kFailedPrecondition,
            what +
                ": the cluster does not have the custom resources of Longshore; install the chart "
                "(helm install longshore CHART), or only them: " +
                api::kApplyCrds};
  }
  if (std::string denial = DenialOf(refusal.message); !denial.empty()) return {CodeOf(refusal), std::move(denial)};
  return {CodeOf(refusal), fmt::format("{}: status {}: {}", what, refusal.status, refusal.message)};
}

Result<std::unique_ptr<Api>> Api::Make(Cluster cluster, const ApiOptions& options, const MonotonicClock& clock) {
  std::unique_ptr<Api> api(new Api(std::move(cluster), options, clock));
  http_client::Options http{.base_url = api->cluster_.server,
                            .tls = [credentials = api->cluster_.credentials] { return credentials->Identity(); },
                            .idle_max = options.request_idle_max,
                            .body_bytes_max = kBodyBytesMax};
  ASSIGN_OR_RETURN(api->requests_, http_client::Client::Make(http));
  http.idle_max = options.watch_idle_max;
  ASSIGN_OR_RETURN(api->watches_, http_client::Client::Make(http));
  return api;
}

Status Api::WaitForRateLimit() {
  std::unique_lock lock(mutex_);
  const Duration wait = is_cancelled_ ? Duration(0) : limit_.Take(clock_.Now());
  if (wait > Duration(0)) cancelled_.wait_for(lock, wait, [this] { return is_cancelled_; });
  if (is_cancelled_) return Cancelled("{}: cancelled", cluster_.server);
  return {};
}

Result<http_client::Request> Api::RequestOf(const Call& call, bool was_rejected) {
  http_client::Request request{.method = call.method, .target = call.target, .body = call.body};
  request.headers = {{"Accept", "application/json, */*;q=0.5"}, {"Content-Type", call.content_type}};
  ASSIGN_OR_RETURN(const std::string token, cluster_.credentials->Token(was_rejected));
  if (!token.empty()) request.headers["Authorization"] = "Bearer " + token;
  return request;
}

void Api::NoteRefusal(const Refusal& refusal) {
  if (refusal.status != 429 || !refusal.retry_after) return;
  const std::lock_guard lock(mutex_);
  limit_.BlockUntil(clock_.Now() + *refusal.retry_after);
}

Result<std::string> Api::Send(const Call& call) {
  for (const bool was_rejected : {false, true}) {
    RETURN_IF_ERROR(WaitForRateLimit());
    ASSIGN_OR_RETURN(const http_client::Request request, RequestOf(call, was_rejected));
    if (call.method != "GET" && may_write_ && !may_write_())
      return FailedPrecondition("{}: this controller is not the leader", Describe(call));
    auto response = requests_->Send(request);
    if (!response) return Prefixed(response.error(), Describe(call));
    if (response->status >= 200 && response->status < 300) return std::move(response->body);
    // Tries once more, because the token may have been rotated.
    if (response->status == kUnauthorized && !was_rejected) continue;
    const Refusal refusal = RefusalOf(*response);
    NoteRefusal(refusal);
    return tl::make_unexpected(ErrorOf(refusal, Describe(call)));
  }
  return Unknown("unreachable");
}

Status Api::Watch(const std::string& target, const std::function<Status(std::string_view line)>& on_line,
                  std::optional<Refusal>* refusal) {
  LineSplitter lines(kLineBytesMax);
  const auto on_piece = [&](std::string_view piece) { return lines.Feed(piece, on_line); };
  RETURN_IF_ERROR(Stream(target, "watch", on_piece, refusal));
  return lines.End();
}

Status Api::Stream(const std::string& target, const std::string& verb,
                   const std::function<Status(std::string_view piece)>& on_piece, std::optional<Refusal>* refusal) {
  const Call call{.target = target};
  const std::string what = verb + " " + target.substr(0, target.find('?'));
  for (const bool was_rejected : {false, true}) {
    RETURN_IF_ERROR(WaitForRateLimit());
    ASSIGN_OR_RETURN(const http_client::Request request, RequestOf(call, was_rejected));
    const auto response = watches_->Stream(
        request,
        {.on_head = [](const http_client::Response& head) { return head.status == 200; }, .on_piece = on_piece});
    if (!response) return Prefixed(response.error(), what);
    if (response->status == 200) return {};
    if (response->status == kUnauthorized && !was_rejected) continue;
    *refusal = RefusalOf(*response);
    NoteRefusal(**refusal);
    return tl::make_unexpected(ErrorOf(**refusal, what));
  }
  return Unknown("unreachable");
}

void Api::CancelWaits() {
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
  }
  cancelled_.notify_all();
}

void Api::Cancel() {
  CancelWaits();
  requests_->Cancel();
  watches_->Cancel();
}

}  // namespace longshore::kube
