// How many of a candidate's last requests failed on this node: what the guard against errors looks at.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace longshore::routing {

// Thread-safe without locks: a reading may lack what others count at the same moment.
class ErrorWindow {
 public:
  // The window's length. A candidate that was good for a day trips as soon as one that never was.
  static constexpr int64_t kRequests = 200;

  struct Seen {
    int64_t requests = 0;  // At most kRequests.
    int64_t errors = 0;
  };

  // Counts one request, and tells what the window holds then.
  Seen Count(bool error);

 private:
  std::array<std::atomic<bool>, kRequests> last_{};
  std::atomic<int64_t> counted_{0};
  std::atomic<int64_t> errors_{0};
};

}  // namespace longshore::routing
