// Closed-loop load: a fixed number of requests in flight; an answer triggers the next request.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "tests/load/client.h"

namespace longshore::bench {

struct Pressure {
  int outstanding = 64;
  std::chrono::milliseconds warm_up{500};
  std::chrono::milliseconds measured{2000};
  pid_t server = 0;  // The process whose processor time is measured; 0: none.
};

struct Throughput {
  int64_t answered = 0;  // Answers during the measurement.
  int64_t failed = 0;    // Failed requests, including those of the warm-up.
  double seconds = 0;
  double server_cpu_seconds = 0;  // Processor time of Pressure::server during the measurement; 0 without it.
  std::string first_failure;
};

// Blocks until the last request is answered.
Throughput Measure(load::Client& client, size_t samples, const Pressure& pressure);

}  // namespace longshore::bench
