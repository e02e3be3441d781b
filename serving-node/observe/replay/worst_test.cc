#include "serving-node/observe/replay/worst.h"

#include <gmock/gmock.h>

namespace longshore::replay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

Path Kept(const std::string& name, double relative, int number, int64_t version = 4) {
  return Path("/captures") /
         fmt::format("20260921T141320Z-{:03}-{}.bundle", number, NameOfDifference(name, version, relative));
}

TEST(ReplacedBy, ReplacesTheMildestOneAboveTheLimit) {
  const std::vector<Path> files = {Kept("digits", 0.5, 1), Kept("digits", 0.1, 2), Kept("digits", 1e6, 3)};
  const std::string added = NameOfDifference("digits", 4, 0.2);
  EXPECT_EQ(added, "digits-4-DIFFERS-2.000e-01");
  EXPECT_THAT(ReplacedBy(added, files, 4), Optional(IsEmpty())) << "there is room";
  EXPECT_THAT(ReplacedBy(added, files, 3), Optional(ElementsAre(files[1])));
  EXPECT_EQ(ReplacedBy(added, files, 2), std::nullopt) << "two differ more";
  EXPECT_EQ(ReplacedBy(NameOfDifference("digits", 4, 0.1), files, 3), std::nullopt) << "it does not differ more";
}

TEST(ReplacedBy, RemovesMoreIfTheLimitWasLowered) {
  const std::vector<Path> files = {Kept("digits", 0.1, 1), Kept("digits", 0.3, 2), Kept("digits", 0.2, 3)};
  EXPECT_THAT(ReplacedBy(NameOfDifference("digits", 4, 0.5), files, 1),
              Optional(ElementsAre(files[1], files[2], files[0])));
}

TEST(ReplacedBy, LooksOnlyAtBundlesOfTheSameModelAndVersion) {
  const std::vector<Path> files = {Kept("digits", 0.1, 1, 5), Kept("new-digits", 0.1, 2),
                                   "/captures/20260921T141320Z-003-digits-4-INTERNAL.bundle", "/captures/notes.txt",
                                   "/captures/digits-4-DIFFERS-1.000e-01.bundle"};
  EXPECT_THAT(ReplacedBy(NameOfDifference("digits", 4, 0.5), files, 1), Optional(IsEmpty()));
}

}  // namespace
}  // namespace longshore::replay
