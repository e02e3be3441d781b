#include "common/os/process/background.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "common/os/log.h"

namespace longshore::process {
namespace {

// Copied from sched_setattr(2), because in Debian 12 the kernel's header that declares it conflicts with the C
// library's <sched.h>.
struct SchedAttr {
  uint32_t size = sizeof(SchedAttr);
  uint32_t policy = 0;  // SCHED_OTHER
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0;  // The time slice.
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

}  // namespace

void RunInBackground() {
  // The thread id 0 means the calling thread: on Linux each thread has its own nice value. Lowering the priority needs
  // no privilege. In a sandbox without sched_setattr, only the nice value is set.
  constexpr int kNice = 10;
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  SchedAttr wanted;
  wanted.nice = kNice;
  wanted.runtime_ns = 100'000'000;
  if (syscall(SYS_sched_setattr, 0, &wanted, 0) == 0 || setpriority(PRIO_PROCESS, 0, kNice) == 0) return;
  static const bool logged = [] {
    spdlog::warn("cannot lower the priority of background threads: {}", std::strerror(errno));
    return true;
  }();
  static_cast<void>(logged);
}

void GiveWay() { std::this_thread::sleep_for(std::chrono::nanoseconds(1)); }

}  // namespace longshore::process
