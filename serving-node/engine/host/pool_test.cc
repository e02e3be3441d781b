#include "serving-node/engine/host/pool.h"

#include <gtest/gtest.h>

#include <future>
#include <new>

#include "common/heap_testing/heap.h"

namespace longshore::engine::host {
namespace {

TEST(Pool, ContinuesAfterWorkThatThrows) {
  Pool pool(1, 10);
  std::promise<void> done;
  pool.Post([] { throw std::bad_alloc(); }, [] {});
  pool.Post([&done] { done.set_value(); }, [] {});
  done.get_future().get();
}

TEST(Pool, CallsNeitherWorkNorRefusalIfThereIsNoMemoryToQueueThem) {
  if (!heap_testing::kIsReplaced) GTEST_SKIP() << "the sanitizer's operator new cannot be made to fail";
  int calls = 0, posted = 0;
  {
    Pool pool(1, 1'000'000);
    const auto count = [&calls] { ++calls; };
    // The deque allocates one block for several entries, so not every call allocates, but at least one has to fail.
    for (int i = 0; i < 1000; ++i) {
      const heap_testing::FailingNew no_memory;
      try {
        pool.Post(count, count);
        ++posted;
      } catch (const std::bad_alloc&) {
      }
    }
  }
  EXPECT_EQ(calls, posted);
  EXPECT_LT(posted, 1000);
}

}  // namespace
}  // namespace longshore::engine::host
