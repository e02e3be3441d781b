#include "common/process/background.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "common/log.h"

namespace longshore::process {
namespace {

// As sched_setattr(2) shows it: the kernel's header for it and the C library's <sched.h> of Debian 12 exclude each
// other.
struct SchedAttr {
  uint32_t size = sizeof(SchedAttr);
  uint32_t policy = 0;  // SCHED_OTHER
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0;  // The slice.
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

}  // namespace

void RunInBackground() {
  // 0 is the calling thread, which on Linux has a nice value of its own. Only raising the priority again would need a
  // privilege. Where a sandbox knows no sched_setattr, there is no slice.
  constexpr int kNice = 10;
  SchedAttr wanted;
  wanted.nice = kNice;
  wanted.runtime_ns = 100'000'000;
  if (syscall(SYS_sched_setattr, 0, &wanted, 0) == 0 || setpriority(PRIO_PROCESS, 0, kNice) == 0) return;
  static const bool told = [] {
    spdlog::warn("cannot lower the priority of threads in the background: {}", std::strerror(errno));
    return true;
  }();
  static_cast<void>(told);
}

}  // namespace longshore::process
