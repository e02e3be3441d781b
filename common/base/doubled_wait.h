// The wait before another attempt, which doubles with each failure (exponential backoff).
#pragma once

#include <algorithm>

namespace longshore {

// Returns `first`, doubled this many times, but at most `longest`.
template <typename Duration>
Duration DoubledWait(Duration first, Duration longest, int doublings) {
  for (int i = 0; i < doublings && first < longest; ++i) first *= 2;
  return std::min(first, longest);
}

}  // namespace longshore
