#include "common/os/process/steady_reader.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <string>

namespace longshore::process {
namespace {

class SteadyReaderTest : public ::testing::Test {
 protected:
  SteadyReaderTest() {
    for (size_t i = 0; i < kBytes; ++i) bytes_ += static_cast<char>('a' + i % 23);
    std::ofstream(path_, std::ios::binary) << bytes_;
  }
  ~SteadyReaderTest() override {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  static constexpr size_t kBytes = (256 << 10) + 5;
  const Path path_ = Path(::testing::TempDir()) / "steady_reader_test";
  std::string bytes_;
};

TEST_F(SteadyReaderTest, ReadsAllBytesInPiecesOfAnySize) {
  for (const size_t size : {size_t{1000}, SteadyReader::kPieceBytes, 2 * kBytes}) {
    auto reader = SteadyReader::Open(path_);
    ASSERT_TRUE(reader);
    std::string all;
    std::string piece(size, '\0');
    for (size_t read = size; read == size; all.append(piece, 0, read)) read = *reader->Read(piece);
    EXPECT_EQ(all, bytes_) << "in pieces of " << size;
  }
}

TEST_F(SteadyReaderTest, BeginsAtAnOffset) {
  std::string piece(10, '\0');
  EXPECT_EQ(*SteadyReader::Open(path_, kBytes - 4)->Read(piece), 4U);
  EXPECT_EQ(piece.substr(0, 4), bytes_.substr(kBytes - 4));
}

TEST_F(SteadyReaderTest, NamesAFileThatDoesNotExist) {
  const auto reader = SteadyReader::Open("/nowhere/weights");
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().message, "cannot read /nowhere/weights: No such file or directory");
}

TEST_F(SteadyReaderTest, PausesPerBytesReadNotPerCall) {
  auto reader = SteadyReader::Open(path_);
  ASSERT_TRUE(reader);
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_THREAD, &before);
  std::string piece(12, '\0');
  while (*reader->Read(piece) == piece.size()) {
  }
  getrusage(RUSAGE_THREAD, &after);
  const int64_t pauses = after.ru_nvcsw - before.ru_nvcsw;
  EXPECT_GE(pauses, 4);
  EXPECT_LT(pauses, 200) << "the file was read in 20,000 calls";
}

}  // namespace
}  // namespace longshore::process
