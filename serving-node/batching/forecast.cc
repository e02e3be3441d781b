#include "serving-node/batching/forecast.h"

#include <algorithm>
#include <bit>

namespace longshore::batching {

size_t Forecast::IndexOf(int64_t bytes) {
  const auto size = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(bytes, 0))));
  return std::min(size, std::tuple_size_v<Sizes> - 1);
}

void Forecast::Record(const std::string& signature, int64_t bytes, Duration took, TimePoint now) {
  Size& size = signatures_[signature][IndexOf(bytes)];
  size.runs[size.next] = {now, bytes, took};
  size.next = (size.next + 1) % kRunsKept;
}

Duration Forecast::Least(const std::string& signature, int64_t bytes, TimePoint since) const {
  const auto sizes = signatures_.find(signature);
  if (sizes == signatures_.end()) return Duration(0);
  for (size_t at = IndexOf(bytes) + 1; at-- > 0;) {
    Duration least = Duration::max();
    for (const Run& run : sizes->second[at].runs) {
      if (run.at >= since && run.bytes <= bytes) least = std::min(least, run.took);
    }
    if (least != Duration::max()) return least;
  }
  return Duration(0);
}

Duration Forecast::AtLeast(const std::string& signature, int64_t bytes, TimePoint now) const {
  return Least(signature, bytes, now - kAgeMax);
}

Duration Forecast::AtLeastEver(const std::string& signature, int64_t bytes) const {
  return Least(signature, bytes, TimePoint::min() + Duration(1));
}

Duration Forecast::Likely(const std::string& signature, int64_t bytes, TimePoint now) const {
  const auto sizes = signatures_.find(signature);
  if (sizes == signatures_.end()) return Duration(0);
  const Duration at_least = AtLeast(signature, bytes, now);
  const size_t own = IndexOf(bytes);
  for (size_t at = own; at < sizes->second.size(); ++at) {
    double took = 0, ran_bytes = 0, runs = 0;
    for (const Run& run : sizes->second[at].runs) {
      if (run.at < now - kAgeMax) continue;
      took += static_cast<double>(run.took.count());
      ran_bytes += static_cast<double>(run.bytes);
      runs += 1;
    }
    if (runs == 0) continue;
    const double mean = at == own ? took / runs : took / ran_bytes * static_cast<double>(bytes);
    return std::max(at_least, Duration(static_cast<Duration::rep>(mean)));
  }
  return at_least;
}

bool Forecast::AllowProbe(const std::string& signature, int64_t bytes, TimePoint now) {
  const auto sizes = signatures_.find(signature);
  if (sizes == signatures_.end()) return true;
  TimePoint& since = sizes->second[IndexOf(bytes)].refusing_since;
  if (since == TimePoint::min()) since = now;
  if (now - since < std::max<Duration>(kAgeMax, kProbePeriodRuns * AtLeast(signature, bytes, now))) return false;
  since = now;
  return true;
}

}  // namespace longshore::batching
