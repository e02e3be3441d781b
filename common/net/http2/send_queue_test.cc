#include "common/net/http2/send_queue.h"

#include <gtest/gtest.h>

#include <array>

#include "common/heap_testing/heap.h"

namespace longshore::http2 {
namespace {

std::string TakeAll(SendQueue& queue, size_t step) {
  std::string all;
  std::array<iovec, 3> parts;
  while (!queue.empty()) {
    std::string bytes;
    const size_t count = queue.Peek(parts);
    for (size_t i = 0; i < count; ++i) bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
    bytes.resize(std::min(bytes.size(), step));
    queue.Consume(bytes.size());
    all += bytes;
  }
  return all;
}

TEST(SendQueue, KeepsTheOrderOfCopiedAndReferredBytes) {
  const auto large = std::make_shared<const std::string>(5000, 'l');
  for (const size_t step : {1, 7, 4999, 100000}) {
    SendQueue queue;
    queue.Copy("ab");
    queue.Copy("c");
    queue.Refer(*large, large);
    queue.Refer("few", large);
    queue.Copy("d");
    EXPECT_EQ(queue.size(), 5007);
    EXPECT_EQ(TakeAll(queue, step), "abc" + *large + "fewd");
    EXPECT_EQ(queue.sent(), 5007);
    EXPECT_EQ(large.use_count(), 1);
  }
}

TEST(SendQueue, DoesNotGrowWhileItIsNeverEmpty) {
  const std::string bytes(1000, 'b');
  SendQueue queue;
  queue.Copy(bytes);
  const heap_testing::PeakBytes peak;
  for (int i = 0; i < 100000; ++i) {
    queue.Copy(bytes);
    queue.Consume(bytes.size());
  }
  EXPECT_EQ(queue.size(), bytes.size());
  EXPECT_LT(peak.bytes(), 100000);
}

// TLS writes again from the same memory if the socket did not accept the bytes at once.
TEST(SendQueue, BytesStayWhereTheyAreUntilTheyAreConsumed) {
  SendQueue queue;
  queue.Copy("ab");
  iovec before, after;
  queue.Peek({&before, 1});
  queue.Copy(std::string(100000, 'b'));
  queue.Peek({&after, 1});
  EXPECT_EQ(before.iov_base, after.iov_base);
}

}  // namespace
}  // namespace longshore::http2
