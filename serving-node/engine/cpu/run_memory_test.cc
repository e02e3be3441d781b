#include "serving-node/engine/cpu/run_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace longshore::engine::cpu {
namespace {

TEST(RunMemory, ABufferIsKeptForTheNextRun) {
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

TEST(RunMemory, RunsAtTheSameTimeHaveTheirOwn) {
  RunMemory memory;
  const auto one = memory.Take(64), other = memory.Take(64);
  EXPECT_NE(one.data(), other.data());
}

TEST(RunMemory, ALargerOneTakesThePlaceOfWhatIsTooSmall) {
  RunMemory memory;
  { const auto small = memory.Take(1000); }
  { const auto large = memory.Take(5000); }
  EXPECT_EQ(memory.free_bytes(), 5056U);
}

TEST(RunMemory, OneGiantRunDoesNotHoldItsMemoryForEver) {
  RunMemory memory;
  { const auto giant = memory.Take(1 << 20); }
  for (size_t i = 0; i < RunMemory::kWindow; ++i) memory.Take(100);
  EXPECT_EQ(memory.free_bytes(), size_t{1} << 20);
  for (size_t i = 0; i < RunMemory::kWindow; ++i) memory.Take(100);
  EXPECT_LE(memory.free_bytes(), 128U);
}

TEST(RunMemory, NorDoesOneThatNoRunTakesAnyMore) {
  RunMemory memory;
  { const auto small = memory.Take(100), giant = memory.Take(1 << 20); }
  for (size_t i = 0; i < 3 * RunMemory::kWindow; ++i) memory.Take(100);
  EXPECT_LE(memory.free_bytes(), 128U);
}

}  // namespace
}  // namespace longshore::engine::cpu
