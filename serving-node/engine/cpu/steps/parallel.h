// Distributes the work of one step to the threads of its run.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace longshore::engine::cpu {

// With fewer elements of work per thread than this, starting a thread costs more than it saves.
inline constexpr int64_t kWorkPerThreadMin = 16 * 1024;

// Splits [0, count) into parts and calls work(begin, end) for each part, on the threads of the run. `each` is the work
// of one item, in elements. Results must not depend on how the range is split.
template <typename Work>
void ForParts(int64_t count, int64_t each, const Work& work) {
  const int64_t wanted = std::max<int64_t>(1, count * std::max<int64_t>(each, 1) / kWorkPerThreadMin);
  const auto threads = static_cast<int>(std::min<int64_t>({wanted, count, omp_get_max_threads()}));
  if (threads <= 1) {
    if (count > 0) work(int64_t{0}, count);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    const int64_t parts = omp_get_num_threads(), part = omp_get_thread_num();
    const int64_t begin = count * part / parts, end = count * (part + 1) / parts;
    if (begin < end) work(begin, end);
  }
}

}  // namespace longshore::engine::cpu
