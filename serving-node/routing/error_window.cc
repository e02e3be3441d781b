#include "serving-node/routing/error_window.h"

#include <algorithm>

namespace longshore::routing {

ErrorWindow::Seen ErrorWindow::Count(bool error) {
  const int64_t before = counted_.fetch_add(1, std::memory_order_relaxed);
  const bool forgotten = last_[static_cast<size_t>(before % kRequests)].exchange(error, std::memory_order_relaxed);
  const int64_t change = (error ? 1 : 0) - (forgotten ? 1 : 0);
  return {std::min(before + 1, kRequests), errors_.fetch_add(change, std::memory_order_relaxed) + change};
}

}  // namespace longshore::routing
