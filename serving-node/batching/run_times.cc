#include "serving-node/batching/run_times.h"

#include <algorithm>
#include <bit>

namespace longshore::batching {

size_t RunTimes::SizeOf(int64_t rows) {
  const auto size = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(rows, 0))));
  return std::min(size, std::tuple_size_v<decltype(sizes_)> - 1);
}

void RunTimes::Note(int64_t rows, Duration took, TimePoint now) {
  Size& size = sizes_[SizeOf(rows)];
  size.runs[size.next] = {now, took};
  size.next = (size.next + 1) % kKept;
}

Duration RunTimes::AtLeast(int64_t rows, TimePoint now) const {
  for (size_t at = SizeOf(rows) + 1; at-- > 0;) {
    Duration least = Duration::max();
    for (const Run& run : sizes_[at].runs) {
      if (run.at != TimePoint::min() && now - run.at <= kAgeMax) least = std::min(least, run.took);
    }
    if (least != Duration::max()) return least;
  }
  return Duration(0);
}

}  // namespace longshore::batching
