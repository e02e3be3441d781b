#include "common/base/sampled.h"

#include <gtest/gtest.h>

namespace longshore {
namespace {

TEST(Sampled, SelectsExactlyTheShare) {
  for (const double share : {0.0, 0.05, 0.25, 1.0}) {
    int taken = 0;
    for (uint64_t i = 0; i < 1000; ++i) taken += Sampled(i, share) ? 1 : 0;
    EXPECT_NEAR(taken, share * 1000, 1) << share;
  }
}

}  // namespace
}  // namespace longshore
