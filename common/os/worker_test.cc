#include "common/os/worker.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

namespace longshore {
namespace {

TEST(Worker, RunsAllWaitingTasksInOrderBeforeItEnds) {
  std::vector<int> done;
  {
    Worker worker;
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(worker.Post([&done, i] { done.push_back(i); }));
  }
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
}

TEST(Worker, FlushWaitsForTheTasksPostedBefore) {
  Worker worker(2);
  std::promise<void> unblock;
  int done = 0;
  worker.Post([&] { unblock.get_future().wait(); });
  worker.Post([&] { ++done; });
  std::thread unblocking([&] { unblock.set_value(); });
  worker.Flush();
  EXPECT_EQ(done, 1);
  unblocking.join();
}

TEST(Worker, RefusesATaskInsteadOfBlockingIfTooManyWait) {
  std::promise<void> begun, unblock;
  Worker worker(1);
  ASSERT_TRUE(worker.Post([&] {
    begun.set_value();
    unblock.get_future().wait();
  }));
  begun.get_future().wait();
  EXPECT_TRUE(worker.Post([] {}));
  EXPECT_FALSE(worker.Post([] {}));
  unblock.set_value();
}

}  // namespace
}  // namespace longshore
