#include "serving-node/saved_model/tfrecord.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/os/file.h"
#include "serving-node/saved_model/crc32c.h"

namespace longshore::saved_model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Crc32c, HasTheKnownValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(Crc32c(""), 0U);
  // Test vectors of RFC 3720, B.4.
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  std::string rising(32, '\0');
  for (size_t i = 0; i < 32; ++i) rising[i] = static_cast<char>(i);
  EXPECT_EQ(Crc32c(rising), 0x46dd794eU);
}

TEST(Crc32c, CanBeComputedInParts) {
  const std::string text = "The quick brown fox jumps over the lazy dog";
  for (size_t at = 0; at <= text.size(); ++at) {
    EXPECT_EQ(ExtendCrc32c(Crc32c(text.substr(0, at)), text.substr(at)), Crc32c(text)) << at;
    EXPECT_EQ(ExtendCrc32cByTable(Crc32c(text.substr(0, at)), text.substr(at)), Crc32c(text)) << at;
  }
}

TEST(Crc32c, IsMaskedAndUnmasked) {
  EXPECT_NE(MaskCrc32c(0xe3069283U), 0xe3069283U);
  EXPECT_EQ(UnmaskCrc32c(MaskCrc32c(0xe3069283U)), 0xe3069283U);
}

Path FileWith(const std::string& bytes) {
  const Path path = Path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
  EXPECT_TRUE(WriteFileAtomically(path, bytes));
  return path;
}

TEST(TfRecords, RoundTrip) {
  const Path path = FileWith("");
  const std::vector<std::string> records = {"one", "", std::string(100'000, 'x')};
  ASSERT_TRUE(WriteTfRecords(path, records));
  EXPECT_EQ(*ReadTfRecords(path, 3), records);
}

TEST(TfRecords, HaveTheFormatOfTensorFlow) {
  // The file that tf.io.TFRecordWriter writes for the one record "abc".
  const std::string bytes(
      "\x03\0\0\0\0\0\0\0\xb0\x99I\x0e"
      "abc"
      "nW\xf1!",
      19);
  EXPECT_THAT(EncodeTfRecord("abc"), testing::StrEq(bytes));
  EXPECT_THAT(*ReadTfRecords(FileWith(bytes), 10), ElementsAre("abc"));
}

TEST(TfRecords, AreRejectedAboveTheLimit) {
  const auto refused = ReadTfRecords(FileWith(EncodeTfRecord("a") + EncodeTfRecord("b")), 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
}

TEST(TfRecords, AreRejectedIfTheFileIsTruncatedAnywhere) {
  const std::string first = EncodeTfRecord("a");
  const std::string bytes = first + EncodeTfRecord("second");
  for (size_t size = first.size() + 1; size < bytes.size(); ++size) {
    const auto refused = ReadTfRecords(FileWith(bytes.substr(0, size)), 10);
    ASSERT_FALSE(refused) << size;
    EXPECT_EQ(refused.error().code, Code::kDataLoss);
    EXPECT_THAT(refused.error().message, HasSubstr(fmt::format("record 1 at byte {}", first.size())));
  }
}

TEST(TfRecords, AreRejectedIfAnyByteIsDamaged) {
  const std::string bytes = EncodeTfRecord("payload");
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const auto refused = ReadTfRecords(FileWith(damaged), 10);
    ASSERT_FALSE(refused) << at;
    EXPECT_EQ(refused.error().code, Code::kDataLoss) << at;
  }
}

TEST(TfRecords, NeedAFile) {
  EXPECT_EQ(ReadTfRecords(Path(testing::TempDir()) / "nowhere.tfrecord", 1).error().code, Code::kNotFound);
}

TEST(TfRecords, AreThoseOfTheOpenedFileIfItIsReplaced) {
  const Path path = FileWith(EncodeTfRecord("a") + EncodeTfRecord("b"));
  auto reader = TfRecordReader::Open(path);
  ASSERT_TRUE(reader);
  EXPECT_EQ(*reader->Next(), "a");
  ASSERT_TRUE(WriteTfRecords(path, {"c", "d", "e"}));
  EXPECT_EQ(*reader->Next(), "b");
  EXPECT_EQ(*reader->Next(), std::nullopt);
}

TEST(TfRecords, CountsTheCompleteRecordsOfATruncatedFile) {
  const std::string whole = EncodeTfRecord("a") + EncodeTfRecord("bc");
  EXPECT_EQ(CountTfRecords(whole).records, 2u);
  EXPECT_EQ(CountTfRecords(whole).bytes, whole.size());
  EXPECT_EQ(CountTfRecords(whole.substr(0, whole.size() - 1)).records, 1u);
  EXPECT_EQ(CountTfRecords(whole.substr(0, whole.size() - 1)).bytes, EncodeTfRecord("a").size());
  EXPECT_EQ(CountTfRecords("").records, 0u);
  EXPECT_FALSE(CountTfRecords(whole).is_cut);
  EXPECT_TRUE(CountTfRecords(whole.substr(0, whole.size() - 1)).is_cut);
  EXPECT_TRUE(CountTfRecords(whole.substr(0, 5)).is_cut);
  std::string damaged = whole;
  damaged[14] ^= 1;
  EXPECT_EQ(CountTfRecords(damaged).records, 0u);
  EXPECT_FALSE(CountTfRecords(damaged).is_cut) << "whole records follow";
}

}  // namespace
}  // namespace longshore::saved_model
