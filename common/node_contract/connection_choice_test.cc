#include "common/node_contract/connection_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::node_contract {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ChooseConnections, TakesTheBusiestUntilTheShareIsReached) {
  EXPECT_THAT(ChooseConnections({20, 40, 10, 30, 0}, {.load_share = 0.5, .connections_max = 9}), ElementsAre(1, 2));
  EXPECT_THAT(ChooseConnections({1, 1, 1, 1}, {.load_share = 0.75, .connections_max = 9}), ElementsAre(0, 1, 2));
}

TEST(ChooseConnections, TakesAtMostSoMany) {
  EXPECT_THAT(ChooseConnections({1, 1, 1, 1}, {.load_share = 0.75, .connections_max = 2}), ElementsAre(0, 1));
  EXPECT_THAT(ChooseConnections({1, 1}, {.load_share = 0.75, .connections_max = 0}), IsEmpty());
}

TEST(ChooseConnections, KeepsTheLastBusyOne) {
  EXPECT_THAT(ChooseConnections({5}, {.load_share = 0.75, .connections_max = 9}), IsEmpty());
  EXPECT_THAT(ChooseConnections({5, 0, 0}, {.load_share = 0.75, .connections_max = 9}), IsEmpty());
  EXPECT_THAT(ChooseConnections({5, 5}, {.load_share = 0.99, .connections_max = 9}), ElementsAre(0));
}

TEST(ChooseConnections, SkipsAConnectionThatHasMuchMoreThanTheShare) {
  EXPECT_THAT(ChooseConnections({90, 5, 5}, {.load_share = 0.5, .connections_max = 9}), ElementsAre(1, 2));
  EXPECT_THAT(ChooseConnections({50, 50}, {.load_share = 0.4, .connections_max = 9}), ElementsAre(0)) << "0.1 too much";
}

TEST(ChooseConnections, ChoosesNoneWithoutRequests) {
  EXPECT_THAT(ChooseConnections({}, {.load_share = 0.5, .connections_max = 9}), IsEmpty());
  EXPECT_THAT(ChooseConnections({0, 0}, {.load_share = 0.5, .connections_max = 9}), IsEmpty());
}

}  // namespace
}  // namespace longshore::node_contract
