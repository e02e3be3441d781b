#include "common/base/text.h"

#include <gtest/gtest.h>

namespace longshore {
namespace {

const std::string kCyrillic = "Привет";   // Two bytes per character.
const std::string kChinese = "模型版本";  // Three.
const std::string kEmoji = "😀😀";          // Four.

TEST(Utf8Prefix, EndsBetweenCharactersForEveryLimit) {
  for (const std::string& text : {kCyrillic, kChinese, kEmoji, "a" + kChinese, "ab" + kEmoji}) {
    for (size_t bytes_max = 0; bytes_max <= text.size() + 1; ++bytes_max) {
      const std::string prefix(Utf8Prefix(text, bytes_max));
      EXPECT_LE(prefix.size(), bytes_max);
      EXPECT_GT(prefix.size() + 4, std::min(bytes_max, text.size())) << "less than one character is missing";
      EXPECT_EQ(ValidUtf8(prefix), prefix) << text << " cut at " << bytes_max;
    }
  }
  EXPECT_EQ(Utf8Prefix(kChinese, 6), "模型");
  EXPECT_EQ(Utf8Prefix(kChinese, 8), "模型");
}

TEST(Utf8Prefix, HasTheFullLengthIfTheBytesAreNotUtf8) {
  EXPECT_EQ(Utf8Prefix(std::string(100, '\x80'), 80).size(), 80u);
  EXPECT_EQ(Utf8Prefix(std::string(100, '\xE6'), 80).size(), 80u);
}

TEST(IsUtf8, AcceptsWhatTheUnicodeStandardCallsWellFormed) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("a\u00e9\u20ac\U0001F600"));
  EXPECT_FALSE(IsUtf8("a\xff"));
  EXPECT_FALSE(IsUtf8("\xe2\x82")) << "the character is not complete";
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80")) << "a surrogate";
}

TEST(ValidUtf8, ReplacesOnlyBytesThatAreNotUtf8) {
  EXPECT_EQ(ValidUtf8(kCyrillic + kChinese + kEmoji), kCyrillic + kChinese + kEmoji);
  EXPECT_EQ(ValidUtf8("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(ValidUtf8("\xC0\xAF"), "\uFFFD\uFFFD") << "an overlong form";
  EXPECT_EQ(ValidUtf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate";
  EXPECT_EQ(ValidUtf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD") << "above U+10FFFF";
  EXPECT_EQ(ValidUtf8("a\xE6\xA8"), "a\uFFFD\uFFFD") << "the end of a character is missing";
}

TEST(CutText, KeepsAShortTextAndEndsALongOneWithAnEllipsis) {
  EXPECT_EQ(CutText("short", 5), "short");
  EXPECT_EQ(CutText("longer", 5), "lo...");
  EXPECT_EQ(CutText(kChinese, 11), "模型...");
  EXPECT_EQ(CutText(kChinese, 2), "");
}

TEST(CutText, IsWithinTheLimitWhenBytesAreReplaced) {
  for (size_t bytes_max = 0; bytes_max < 40; ++bytes_max) {
    const std::string cut = CutText(std::string(20, '\xFF'), bytes_max);
    EXPECT_LE(cut.size(), bytes_max);
    EXPECT_EQ(ValidUtf8(cut), cut);
  }
}

}  // namespace
}  // namespace longshore
