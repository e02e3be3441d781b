#include "serving-node/engine/cpu/run_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <vector>

#include "common/heap_testing/heap.h"

namespace longshore::engine::cpu {
namespace {

TEST(RunMemory, KeepsABufferForTheNextRun) {
  RunMemory memory;
  std::byte* first = nullptr;
  {
    const auto taken = memory.Take(1000);
    first = taken.data();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0U);
    EXPECT_EQ(memory.free_bytes(), 0U);
  }
  EXPECT_EQ(memory.free_bytes(), 1024U);
  EXPECT_EQ(memory.Take(900).data(), first);
}

TEST(RunMemory, GivesConcurrentRunsDifferentBuffers) {
  RunMemory memory;
  const auto one = memory.Take(64), other = memory.Take(64);
  EXPECT_NE(one.data(), other.data());
}

TEST(RunMemory, ReplacesABufferThatIsTooSmall) {
  RunMemory memory;
  { const auto small = memory.Take(1000); }
  { const auto large = memory.Take(5000); }
  EXPECT_EQ(memory.free_bytes(), 5056U);
}

TEST(RunMemory, ReleasesTheBufferOfOneGiantRunAfterTwoWindows) {
  RunMemory memory;
  { const auto giant = memory.Take(1 << 20); }
  for (size_t i = 0; i < RunMemory::kWindow; ++i) memory.Take(100);
  EXPECT_EQ(memory.free_bytes(), size_t{1} << 20);
  for (size_t i = 0; i < RunMemory::kWindow; ++i) memory.Take(100);
  EXPECT_LE(memory.free_bytes(), 128U);
}

TEST(RunMemory, ReleasesAGiantBufferThatNoLaterRunTakes) {
  RunMemory memory;
  { const auto small = memory.Take(100), giant = memory.Take(1 << 20); }
  for (size_t i = 0; i < 3 * RunMemory::kWindow; ++i) memory.Take(100);
  EXPECT_LE(memory.free_bytes(), 128U);
}

TEST(RunMemory, TakesBuffersBackWithoutAllocating) {
  if (!heap_testing::kIsReplaced) GTEST_SKIP() << "the sanitizer's operator new cannot be made to fail";
  RunMemory memory;
  std::vector<RunMemory::Buffer> taken;
  taken.reserve(10);
  for (int i = 0; i < 10; ++i) taken.push_back(memory.Take(64));
  {
    const heap_testing::FailingNew no_memory;
    taken.clear();
    EXPECT_EQ(no_memory.failures(), 0);
  }
  EXPECT_EQ(memory.free_bytes(), 640U);
}

TEST(RunMemory, IsUnchangedAfterAFailedTake) {
  RunMemory memory;
  if (heap_testing::kIsReplaced) {
    const heap_testing::FailingNew no_memory;
    EXPECT_THROW(memory.Take(64), std::bad_alloc);
  }
  constexpr size_t kTooMany = std::numeric_limits<size_t>::max() / 2;
  for (int i = 0; i < 3; ++i) EXPECT_THROW(memory.Take(kTooMany), std::bad_alloc);
  { const auto one = memory.Take(64), other = memory.Take(64); }
  EXPECT_EQ(memory.free_bytes(), 128U);
}

}  // namespace
}  // namespace longshore::engine::cpu
