#include "serving-node/batching/slots.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace longshore::batching {
namespace {

TEST(Slots, AreTakenUpToTheLimit) {
  Slots slots(2);
  EXPECT_TRUE(slots.TakeIfNoneWaits());
  EXPECT_TRUE(slots.IsOpen());
  EXPECT_TRUE(slots.TakeIfNoneWaits());
  EXPECT_FALSE(slots.IsOpen());
  EXPECT_FALSE(slots.TakeIfNoneWaits());
  EXPECT_EQ(slots.running(), 2);
  EXPECT_TRUE(slots.FreeIfNoneWaits(false));
  EXPECT_TRUE(slots.TakeIfNoneWaits());
}

TEST(Slots, ArePassedOnWhileARequestWaits) {
  Slots slots(1);
  EXPECT_TRUE(slots.TakeOrWait());
  EXPECT_FALSE(slots.WillBePassedOn());
  EXPECT_FALSE(slots.TakeOrWait());
  EXPECT_TRUE(slots.WillBePassedOn());
  EXPECT_FALSE(slots.FreeIfNoneWaits(false));
  EXPECT_EQ(slots.running(), 1);
  slots.Free(false);
  EXPECT_FALSE(slots.TakeIfNoneWaits()) << "the slot is for the request that waits";
  EXPECT_FALSE(slots.WillBePassedOn());
  slots.SetNoneWaits();
  EXPECT_TRUE(slots.TakeIfNoneWaits());
  EXPECT_TRUE(slots.FreeIfNoneWaits(false));
  EXPECT_TRUE(slots.all_free());
}

TEST(Slots, FollowANewLimit) {
  Slots slots(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(slots.TakeIfNoneWaits());
  slots.SetLimit(2);
  EXPECT_EQ(slots.limit(), 2);
  EXPECT_EQ(slots.running(), 3) << "current runs continue";
  EXPECT_TRUE(slots.FreeIfNoneWaits(false));
  EXPECT_FALSE(slots.TakeIfNoneWaits());
  slots.SetLimit(65535);
  for (int i = 2; i < 65535; ++i) ASSERT_TRUE(slots.TakeIfNoneWaits());
  EXPECT_FALSE(slots.TakeIfNoneWaits());
  EXPECT_EQ(slots.running(), 65535);
}

TEST(Slots, LeaveOneFreeForRequestsOfUsers) {
  Slots slots(2);
  EXPECT_TRUE(slots.TakeOrWait(true));
  EXPECT_FALSE(slots.TakeOrWait(true));
  EXPECT_FALSE(slots.WillBePassedOn()) << "one is free";
  EXPECT_EQ(slots.running(), 0) << "background runs do not count";
  EXPECT_FALSE(slots.all_free());
  EXPECT_TRUE(slots.TakeOrWait());
  slots.Free(true);
  EXPECT_EQ(slots.running(), 1);
  Slots only(1);
  EXPECT_TRUE(only.TakeOrWait(true)) << "there is no other slot";
}

TEST(Slots, StayOpenToUsersWhileABackgroundRequestWaits) {
  Slots slots(3);
  EXPECT_TRUE(slots.TakeIfNoneWaits());
  EXPECT_TRUE(slots.TakeIfNoneWaits());
  EXPECT_FALSE(slots.TakeOrWait(true));
  EXPECT_TRUE(slots.IsOpen());
  EXPECT_TRUE(slots.TakeIfNoneWaits());
  EXPECT_FALSE(slots.WillBePassedOn());
  EXPECT_TRUE(slots.FreeIfNoneWaits(false)) << "the background request needs one more slot";
  EXPECT_FALSE(slots.FreeIfNoneWaits(false)) << "the background request needs this slot";
  EXPECT_EQ(slots.running(), 2);
  slots.Free(false);
  EXPECT_TRUE(slots.TakeOrWait(true));
  slots.SetNoneWaits();
  EXPECT_TRUE(slots.FreeIfNoneWaits(true));
  EXPECT_TRUE(slots.FreeIfNoneWaits(false));
  EXPECT_TRUE(slots.all_free());
}

TEST(Slots, AreNeverTakenTwice) {
  Slots slots(3);
  std::atomic<int> taken = 0;
  const auto client = [&] {
    for (int i = 0; i < 20'000; ++i) {
      if (!slots.TakeIfNoneWaits()) continue;
      EXPECT_LE(taken.fetch_add(1), 2);
      taken.fetch_sub(1);
      EXPECT_TRUE(slots.FreeIfNoneWaits(false));
    }
  };
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) clients.emplace_back(client);
  for (auto& thread : clients) thread.join();
  EXPECT_TRUE(slots.all_free());
}

}  // namespace
}  // namespace longshore::batching
