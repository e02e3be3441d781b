#include "common/worker.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

namespace longshore {
namespace {

TEST(Worker, DoesInOrderWhatWaitsBeforeItGoes) {
  std::vector<int> done;
  {
    Worker worker;
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(worker.Post([&done, i] { done.push_back(i); }));
  }
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
}

TEST(Worker, FlushWaitsForWhatWasPostedBefore) {
  Worker worker(2);
  std::promise<void> free;
  int done = 0;
  worker.Post([&] { free.get_future().wait(); });
  worker.Post([&] { ++done; });
  std::thread freeing([&] { free.set_value(); });
  worker.Flush();
  EXPECT_EQ(done, 1);
  freeing.join();
}

TEST(Worker, RefusesWhatIsTooMuchInsteadOfWaiting) {
  std::promise<void> begun, free;
  Worker worker(1);
  ASSERT_TRUE(worker.Post([&] {
    begun.set_value();
    free.get_future().wait();
  }));
  begun.get_future().wait();
  EXPECT_TRUE(worker.Post([] {}));
  EXPECT_FALSE(worker.Post([] {}));
  free.set_value();
}

}  // namespace
}  // namespace longshore
