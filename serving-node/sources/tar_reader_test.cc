#include "serving-node/sources/tar_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving-node/sources/testing.h"

namespace longshore::sources {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Lists all entries as "name:content" for a file and "name/" for a folder. On an error its message is the last element.
std::vector<std::string> All(std::string archive) {
  TarReader reader(BytesOf(std::move(archive)));
  std::vector<std::string> all;
  for (;;) {
    const auto entry = reader.Next();
    if (!entry) {
      all.push_back(entry.error().message);
      EXPECT_EQ(entry.error().code, Code::kInvalidArgument);
      return all;
    }
    if (!*entry) return all;
    std::string content(static_cast<size_t>((*entry)->size), '\0');
    const auto read = reader.Read(content);
    EXPECT_TRUE(read && *read == content.size());
    all.push_back((*entry)->name + ((*entry)->is_folder ? "/" : ":" + content));
  }
}

std::string ErrorOf(const std::string& entries) { return All(entries + TarEnd()).back(); }

TEST(TarReader, ReturnsFilesAndFoldersInTheirOrder) {
  EXPECT_THAT(All(TarEntryOf("./", "", '5') + TarEntryOf("a/", "", '5') + TarEntryOf("a/./b//c", "hello") +
                  TarEntryOf("empty", "") + TarEnd()),
              ElementsAre("a/", "a/b/c:hello", "empty:"));
}

TEST(TarReader, SkipsUnreadContent) {
  TarReader reader(BytesOf(TarEntryOf("a", std::string(70'000, 'x')) + TarEntryOf("b", "y") + TarEnd()));
  EXPECT_EQ((*reader.Next())->name, "a");
  EXPECT_EQ((*reader.Next())->name, "b");
  EXPECT_FALSE(*reader.Next());
}

TEST(TarReader, ReadsAllFormsOfLongNames) {
  const std::string part(70, 'n');
  const std::string name = part + "/" + part + "/file";
  EXPECT_THAT(
      All(TarEntryOf("././@LongLink", name + '\0', 'L') + TarEntryOf("cut", "1") +
          TarEntryOf("PaxHeaders/x", PaxRecord("mtime", "1.5") + PaxRecord("path", name), 'x') +
          TarEntryOf("cut", "2") + TarEntryOf("file", "3", '0', part + "/" + part) + TarEntryOf("own", "4") + TarEnd()),
      ElementsAre(name + ":1", name + ":2", name + ":3", "own:4"));
}

TEST(TarReader, UsesTheSizeOfAnExtendedHeader) {
  std::string entry = TarEntryOf("big", "12345");
  entry.replace(124, 11, "00000000000");
  unsigned sum = 8 * ' ';
  for (size_t i = 0; i < kTarBlock; ++i) sum += i >= 148 && i < 156 ? 0 : static_cast<uint8_t>(entry[i]);
  entry.replace(148, 6, fmt::format("{:06o}", sum));
  EXPECT_THAT(All(TarEntryOf("x", PaxRecord("size", "5"), 'x') + entry + TarEnd()), ElementsAre("big:12345"));
}

TEST(TarReader, RefusesNamesThatPointOutsideOfTheArchive) {
  EXPECT_THAT(ErrorOf(TarEntryOf("/etc/passwd", "x")), HasSubstr("\"/etc/passwd\" has an absolute name"));
  EXPECT_THAT(ErrorOf(TarEntryOf("a/../../b", "x")), HasSubstr("points outside of the archive"));
  EXPECT_THAT(ErrorOf(TarEntryOf("..", "", '5')), HasSubstr("points outside of the archive"));
  EXPECT_THAT(ErrorOf(TarEntryOf("x", PaxRecord("path", "../b"), 'x') + TarEntryOf("a", "x")),
              HasSubstr("points outside"));
  EXPECT_THAT(ErrorOf(TarEntryOf("x", PaxRecord("path", std::string("a\0b", 3)), 'x') + TarEntryOf("a", "x")),
              HasSubstr("zero byte"));
}

TEST(TarReader, RefusesEntriesOtherThanFilesAndFolders) {
  const std::pair<char, const char*> kinds[] = {{'1', "hard link"},     {'2', "symbolic link"}, {'3', "device"},
                                                {'4', "device"},        {'6', "pipe"},          {'S', "sparse"},
                                                {'K', "symbolic link"}, {'Z', "unknown"}};
  for (const auto& [type, words] : kinds) {
    EXPECT_THAT(ErrorOf(TarEntryOf("a", "", type)), HasSubstr(words));
  }
  EXPECT_THAT(ErrorOf(TarEntryOf("x", PaxRecord("GNU.sparse.major", "1"), 'x') + TarEntryOf("a", "")),
              HasSubstr("sparse"));
}

TEST(TarReader, RefusesFilesThatAreNotArchives) {
  EXPECT_THAT(All("").back(), HasSubstr("no end mark"));
  EXPECT_THAT(All("<html>not found</html>").back(), HasSubstr("in the middle of a header"));
  EXPECT_THAT(All(std::string(512, 'x')).back(), HasSubstr("not a tar archive"));
  const std::string good = GoodTar();
  EXPECT_THAT(All(good.substr(0, good.size() - TarEnd().size())).back(), HasSubstr("no end mark"));
  TarReader cut(BytesOf(good.substr(0, 4 * kTarBlock)));
  while (cut.Next().value_or(std::nullopt)) {
  }
  EXPECT_THAT(cut.Next().error().message, HasSubstr("no end mark"));
}

TEST(TarReader, RefusesHeadersThatExceedTheLimits) {
  std::string huge = TarEntryOf("x", "", 'x');
  huge.replace(124, 11, "77777777777");
  unsigned sum = 8 * ' ';
  for (size_t i = 0; i < kTarBlock; ++i) sum += i >= 148 && i < 156 ? 0 : static_cast<uint8_t>(huge[i]);
  huge.replace(148, 6, fmt::format("{:06o}", sum));
  EXPECT_THAT(ErrorOf(huge), HasSubstr("an extension header of 8589934591 bytes"));
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += "d/";
  EXPECT_THAT(ErrorOf(TarEntryOf(deep, "", '5')), HasSubstr("too deep"));
  EXPECT_THAT(ErrorOf(TarEntryOf("L", std::string(300, 'n'), 'L') + TarEntryOf("a", "")), HasSubstr("too long"));
  for (const char* record :
       {"9 path=x", "x", "99999999999999999999 a=b\n", "3 \n", "5 ab\n", "11 size=-1\n", "12 size=1x2\n"}) {
    EXPECT_NE(ErrorOf(TarEntryOf("x", record, 'x') + TarEntryOf("a", "")), "a:") << record;
  }
}

}  // namespace
}  // namespace longshore::sources
