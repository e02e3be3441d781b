#include "common/base/sorted_keys.h"

#include <gmock/gmock.h>

#include <string>
#include <unordered_map>

namespace longshore {
namespace {

TEST(SortedKeys, AreInAscendingOrder) {
  const std::unordered_map<std::string, int> map = {{"b", 1}, {"", 2}, {"a", 3}, {"ab", 4}};
  EXPECT_THAT(SortedKeys(map), testing::ElementsAre("", "a", "ab", "b"));
  EXPECT_TRUE(SortedKeys(std::unordered_map<std::string, int>()).empty());
}

}  // namespace
}  // namespace longshore
