// For tests of what happens when the process has no free descriptor.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

namespace longshore::process {

// The process can open no descriptor while this object exists.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &limit_);
    const int next = dup(0);
    close(next);
    const rlimit none{.rlim_cur = static_cast<rlim_t>(next), .rlim_max = limit_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &limit_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit limit_{};
};

}  // namespace longshore::process
