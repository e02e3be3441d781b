#include "tests/bench/engine/allocations.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>

namespace longshore::bench::engine {
namespace {

constexpr size_t kBytes = 256;

struct alignas(64) Wide {
  char bytes[kBytes];
};

// Volatile, so that the compiler cannot remove an allocation that is never read.
void* volatile seen;

int64_t CountOf(const std::function<void()>& take) {
  const int64_t before = Allocations();
  take();
  return Allocations() - before;
}

TEST(Allocations, EveryWayToAskForMemoryCountsOnce) {
  const auto freed = [](auto take) {
    return CountOf([take] {
      seen = take();
      std::free(seen);
    });
  };
  EXPECT_EQ(freed([] { return std::malloc(kBytes); }), 1) << "malloc";
  EXPECT_EQ(freed([] { return std::calloc(kBytes, 1); }), 1) << "calloc";
  EXPECT_EQ(freed([] { return std::aligned_alloc(64, kBytes); }), 1) << "aligned_alloc";
  EXPECT_EQ(freed([]() -> void* {
              void* block = nullptr;
              return posix_memalign(&block, 64, kBytes) == 0 ? block : nullptr;
            }),
            1)
      << "posix_memalign";
  EXPECT_EQ(freed([] { return std::realloc(nullptr, kBytes); }), 1) << "realloc";
}

template <typename Block>
int64_t CountOfNew(Block* (*take)(), void (*give)(Block*)) {
  return CountOf([take, give] {
    Block* const block = take();
    seen = block;
    give(block);
  });
}

TEST(Allocations, EveryFormOfNewCountsOnce) {
  const auto one = [](auto* block) { delete block; };
  const auto many = [](auto* block) { delete[] block; };
  EXPECT_EQ(CountOfNew<int>([] { return new int(1); }, one), 1);
  EXPECT_EQ(CountOfNew<int>([] { return new int[kBytes]; }, many), 1);
  EXPECT_EQ(CountOfNew<int>([] { return new (std::nothrow) int(1); }, one), 1);
  EXPECT_EQ(CountOfNew<int>([] { return new (std::nothrow) int[kBytes]; }, many), 1);
  EXPECT_EQ(CountOfNew<Wide>([] { return new Wide; }, one), 1);
  EXPECT_EQ(CountOfNew<Wide>([] { return new Wide[2]; }, many), 1);
}

TEST(Allocations, MemoryIsWhatWasAskedFor) {
  const std::unique_ptr<Wide> wide(new Wide);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(wide.get()) % alignof(Wide), 0U);
  auto* bytes = static_cast<char*>(std::calloc(kBytes, 1));
  EXPECT_EQ(std::string(bytes, kBytes), std::string(kBytes, '\0'));
  bytes[0] = 'a';
  bytes = static_cast<char*>(std::realloc(bytes, 100 * kBytes));
  EXPECT_EQ(bytes[0], 'a');
  std::free(bytes);
}

}  // namespace
}  // namespace longshore::bench::engine
