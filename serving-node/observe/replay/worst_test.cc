#include "serving-node/observe/replay/worst.h"

#include <gmock/gmock.h>

namespace longshore::replay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

BundleFile Kept(const std::string& name, double severity, int number, int64_t version = 4) {
  return {Path("/captures") /
              fmt::format("20260921T141320Z-{:03}-{}.bundle", number, NameOfDifference(name, version, severity)),
          100};
}

// Returns the numbers of the files that a bundle of digits version 4 with 100 bytes replaces.
std::optional<std::vector<int>> NumbersReplaced(double severity, const std::vector<BundleFile>& files,
                                                const DifferenceLimits& limits) {
  const auto replaced = ReplacedBy({NameOfDifference("digits", 4, severity), 100}, files, limits);
  if (!replaced) return std::nullopt;
  std::vector<int> numbers;
  for (const Path& path : *replaced) numbers.push_back(std::stoi(path.filename().string().substr(17, 3)));
  return numbers;
}

DifferenceLimits OfVersion(size_t files_max) {
  return {.of_version_max = files_max, .files_max = 1000, .bytes_max = 1'000'000};
}

TEST(ReplacedBy, ReplacesTheMildestOneAboveTheLimit) {
  const std::vector<BundleFile> files = {Kept("digits", 0.5, 1), Kept("digits", 0.1, 2), Kept("digits", 1, 3)};
  EXPECT_EQ(NameOfDifference("digits", 4, 0.2), "digits-4-DIFFERS-2.000e-01");
  EXPECT_THAT(NumbersReplaced(0.2, files, OfVersion(4)), Optional(IsEmpty())) << "there is room";
  EXPECT_THAT(NumbersReplaced(0.2, files, OfVersion(3)), Optional(ElementsAre(2)));
  EXPECT_EQ(NumbersReplaced(0.2, files, OfVersion(2)), std::nullopt) << "two differ more";
  EXPECT_EQ(NumbersReplaced(0.1, files, OfVersion(3)), std::nullopt) << "it does not differ more";
}

TEST(ReplacedBy, RemovesMoreIfTheLimitWasLowered) {
  const std::vector<BundleFile> files = {Kept("digits", 0.1, 1), Kept("digits", 0.3, 2), Kept("digits", 0.2, 3)};
  EXPECT_THAT(NumbersReplaced(0.5, files, OfVersion(1)), Optional(ElementsAre(1, 3, 2)));
}

TEST(ReplacedBy, CountsOnlyBundlesOfTheSameModelAndVersionForTheLimitOfAVersion) {
  const std::vector<BundleFile> files = {Kept("digits", 0.1, 1, 5), Kept("new-digits", 0.1, 2)};
  EXPECT_THAT(NumbersReplaced(0.5, files, OfVersion(1)), Optional(IsEmpty()));
}

TEST(ReplacedBy, IgnoresFilesWithOtherNames) {
  const std::vector<BundleFile> files = {{"/captures/20260921T141320Z-003-digits-4-INTERNAL.bundle", 100},
                                         {"/captures/notes.txt", 100},
                                         {"/captures/digits-4-DIFFERS-1.000e-01.bundle", 100}};
  EXPECT_THAT(NumbersReplaced(0.5, files, {.of_version_max = 1, .files_max = 1, .bytes_max = 100}),
              Optional(IsEmpty()));
}

TEST(ReplacedBy, MakesRoomInThePartForDifferencesByTheOldestOfOtherVersions) {
  const std::vector<BundleFile> files = {Kept("digits", 0.1, 4), Kept("digits", 0.9, 3, 3), Kept("digits", 0.2, 1, 2),
                                         Kept("other", 0.9, 2)};
  DifferenceLimits limits{.of_version_max = 9, .files_max = 5, .bytes_max = 500};
  EXPECT_THAT(NumbersReplaced(0.5, files, limits), Optional(IsEmpty()));
  limits.files_max = 4;
  EXPECT_THAT(NumbersReplaced(0.01, files, limits), Optional(ElementsAre(1))) << "however mild it is";
  limits.bytes_max = 399;
  EXPECT_THAT(NumbersReplaced(0.5, files, limits), Optional(ElementsAre(1, 2))) << "the bytes count, too";
  limits.files_max = 1;
  EXPECT_THAT(NumbersReplaced(0.5, files, limits), Optional(ElementsAre(1, 2, 3, 4))) << "then a milder one";
  EXPECT_EQ(NumbersReplaced(0.1, files, limits), std::nullopt) << "the one of its version differs as much";
  limits.bytes_max = 99;
  EXPECT_EQ(NumbersReplaced(0.5, files, limits), std::nullopt) << "it is too large";
}

}  // namespace
}  // namespace longshore::replay
