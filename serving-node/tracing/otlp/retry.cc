#include "serving-node/tracing/otlp/retry.h"

#include "common/base/doubled_wait.h"

namespace longshore::tracing::otlp {
namespace {

using std::chrono::milliseconds;

// A certificate that is not valid may be renewed.
bool MayRetry(const Result<download::Answer>& answer) {
  if (answer) return IsTemporary(answer->status);
  return answer.error().code == Code::kUnavailable || answer.error().code == Code::kUnauthenticated;
}

// The wait for this attempt, shortened by up to half of it.
milliseconds BackoffOf(const Attempt& attempt, const RetryLimits& limits) {
  const milliseconds wait = DoubledWait(limits.first, limits.longest, attempt.number - 1);
  return wait - milliseconds(static_cast<int64_t>(static_cast<double>(wait.count()) * attempt.random / 2));
}

}  // namespace

bool IsTemporary(int http_status) {
  return http_status == 429 || http_status == 502 || http_status == 503 || http_status == 504;
}

std::optional<milliseconds> WaitAfter(const Result<download::Answer>& answer, const Attempt& attempt,
                                      const RetryLimits& limits) {
  if (!MayRetry(answer)) return std::nullopt;
  const bool is_told = answer && answer->retry_after.count() > 0;
  const milliseconds wait = is_told ? milliseconds(answer->retry_after) : BackoffOf(attempt, limits);
  if (wait > limits.all || attempt.since_first > limits.all - wait) return std::nullopt;
  return wait;
}

}  // namespace longshore::tracing::otlp
