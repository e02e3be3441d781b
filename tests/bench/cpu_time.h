// Clocks of processor time.
#pragma once

#include <sys/types.h>
#include <time.h>

namespace longshore::bench {

// The processor time of this thread: other work on the processor does not count.
inline double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The processor time of all threads of a process; 0 if there is no such process.
inline double CpuSecondsOf(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (process <= 0 || clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace longshore::bench
