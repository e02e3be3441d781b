#include "serving-node/routing/assignment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "common/json/json.h"
#include "common/os/file.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::routing {
namespace {

TEST(Assignment, AgreesWithThePublishedVectors) {
  const auto bytes = ReadFile(source_tree::Root() / "tests/judge/assignment_vectors.json");
  ASSERT_TRUE(bytes) << ToString(bytes.error());
  const auto vectors = ParseJson(*bytes);
  ASSERT_TRUE(vectors);
  const Json& rows = vectors->is_array() ? *vectors : vectors->at("vectors");
  ASSERT_GT(rows.size(), 10u);
  for (const Json& row : rows) {
    EXPECT_EQ(BucketOfKey(row["salt"].get<std::string>(), row["key"].get<std::string>()), row["bucket"].get<uint32_t>())
        << row.dump();
  }
}

TEST(Assignment, SplitsEveryStretchOfRequestsAlmostExactly) {
  const VersionWeight shares[] = {{2, 500}, {1, 9500}};
  for (const uint64_t begin : {uint64_t{0}, uint64_t{12345}, uint64_t{1} << 40}) {
    int64_t candidate = 0;
    for (uint64_t n = begin; n < begin + 1000; ++n) candidate += OwnerOf(BucketOfSequence(n), shares) == 2 ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(candidate), 50, 4) << begin;
  }
}

TEST(Assignment, KeepsEveryKeyOnTheCandidateWhileItsWeightGrows) {
  for (int key = 0; key < 2000; ++key) {
    bool had_candidate = false;
    for (const int32_t weight : {0, 500, 2500, 5000, 10000}) {
      const VersionWeight shares[] = {{2, weight}, {1, 10000 - weight}};
      const bool has = OwnerOf(BucketOfKey("uid/2/1", std::to_string(key)), shares) == 2;
      EXPECT_TRUE(has || !had_candidate) << key;
      had_candidate = has;
    }
    EXPECT_TRUE(had_candidate);
  }
}

TEST(Assignment, OrdersKeysDifferentlyForEachSalt) {
  int both = 0;
  for (int key = 0; key < 10000; ++key) {
    const std::string name = std::to_string(key);
    both += BucketOfKey("a", name) < 1000 && BucketOfKey("b", name) < 1000 ? 1 : 0;
  }
  EXPECT_NEAR(both, 100, 50);
}

TEST(Assignment, HasNoOwnerForABucketAboveAllShares) {
  const VersionWeight shares[] = {{2, 10}};
  EXPECT_EQ(OwnerOf(9, shares), 2);
  EXPECT_EQ(OwnerOf(10, shares), std::nullopt);
  EXPECT_EQ(OwnerOf(0, {}), std::nullopt);
}

TEST(AnyCookie, OffersEachValueUntilOneIsTaken) {
  std::vector<std::string> offered;
  const auto take = [&](std::string_view value) {
    offered.emplace_back(value);
    return value == "2";
  };
  EXPECT_TRUE(AnyCookie("a=1; b=9;a=2; a=3", "a", take));
  EXPECT_EQ(offered, (std::vector<std::string>{"1", "2"}));
  EXPECT_FALSE(AnyCookie("a=1; b=2", "a", take));
}

TEST(CookieValue, FindsOneCookieAmongOthers) {
  EXPECT_EQ(CookieValue("a=1; user=bob; b=2", "user"), "bob");
  EXPECT_EQ(CookieValue("user=", "user"), "");
  EXPECT_EQ(CookieValue("superuser=x;user=y", "user"), "y");
  EXPECT_EQ(CookieValue("a=1; ;user", "user"), std::nullopt);
}

}  // namespace
}  // namespace longshore::routing
