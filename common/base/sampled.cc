#include "common/base/sampled.h"

#include <cmath>

namespace longshore {

bool Sampled(uint64_t i, double share) {
  const double before = std::floor(static_cast<double>(i) * share);
  return std::floor(static_cast<double>(i + 1) * share) > before;
}

}  // namespace longshore
