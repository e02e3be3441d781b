// Decides what happens to a batch after an attempt to send it, by the rules of OTLP over HTTP
// (https://opentelemetry.io/docs/specs/otlp/#otlphttp-response). Pure.
#pragma once

#include <chrono>
#include <optional>

#include "common/base/error.h"
#include "common/net/download/post.h"

namespace longshore::tracing::otlp {

// Whether the status says that the same request may succeed later.
bool IsTemporary(int http_status);

struct RetryLimits {
  std::chrono::milliseconds first{1'000};  // The wait after the first attempt; doubled after each further one.
  std::chrono::milliseconds longest{30'000};
  std::chrono::milliseconds all{60'000};  // From the first attempt on. A wait that would end later is not begun.
};

struct Attempt {
  int number = 1;
  std::chrono::milliseconds since_first{0};
  double random = 0.5;  // From 0 to 1: the wait is shortened by up to half of it, so that nodes do not come together.
};

// Returns the wait before the next attempt; nullopt if there is none, because the batch was accepted, the answer says
// that it never will be, or the time is over. An answer's Retry-After counts instead of the doubled waits.
std::optional<std::chrono::milliseconds> WaitAfter(const Result<download::Answer>& answer, const Attempt& attempt,
                                                   const RetryLimits& limits);

}  // namespace longshore::tracing::otlp
