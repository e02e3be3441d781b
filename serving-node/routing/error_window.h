// Counts the errors among the last requests of a candidate on this node, for the guard that stops a failing candidate.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace longshore::routing {

// Thread-safe without locks: a result may miss requests that other threads count at the same moment.
class ErrorWindow {
 public:
  // The length of the window. Older requests do not count, so the guard reacts to a candidate that worked for a day as
  // quickly as to one that never worked.
  static constexpr int64_t kRequests = 200;

  struct Seen {
    int64_t requests = 0;  // At most kRequests.
    int64_t errors = 0;
  };

  // Counts one request and returns the counts of the window, this request included.
  Seen Count(bool error);

 private:
  std::array<std::atomic<bool>, kRequests> last_{};
  std::atomic<int64_t> counted_{0};
  std::atomic<int64_t> errors_{0};
};

}  // namespace longshore::routing
