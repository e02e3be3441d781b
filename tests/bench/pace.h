// Open-loop load on one thread: requests are sent when they are due, without waiting for answers.
#pragma once

#include <chrono>
#include <string>

#include "tests/load/samples.h"

namespace longshore::bench {

struct Pace {
  std::string target;  // host:port
  int connections = 4;
  double per_second = 1000;
  int models = 0;  // Requests name m0, m1 and so on in turn, up to this number of models; 0: the model "default".
  std::chrono::milliseconds warm_up{200};  // Requests that are due in this time are not counted.
  std::chrono::milliseconds measured{1000};
};

struct Latencies {
  int64_t answered = 0;  // Answers to requests that were due during the measurement.
  int64_t failed = 0;    // Failed requests, including those of the warm-up.
  // Latency: from the time when a request was due to the time when its answer was read; 0 without answers.
  double p50_ms = 0;
  double p99_ms = 0;
  // Delay that the client itself adds: from the time when a request was due to the time when it was sent.
  double late_p99_ms = 0;
};

// Blocks until the last request is answered. The thread polls without ever sleeping, because waking up costs more than
// a request does.
Latencies MeasurePace(const Pace& pace, const load::Samples& samples);

}  // namespace longshore::bench
