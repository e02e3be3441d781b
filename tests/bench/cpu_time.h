// The clock of the benchmarks that run on one thread.
#pragma once

#include <time.h>

namespace longshore::bench {

// The processor time of this thread: other work on the processor does not count.
inline double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace longshore::bench
