// Tests with bundles that the test writes. They have partitioned tensors, whose parts must cover the tensor exactly.
#include "serving-node/saved_model/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>
#include <unistd.h>

#include <fstream>
#include <numeric>

#include "common/os/file.h"
#include "serving-node/saved_model/crc32c.h"
#include "serving-node/tensor/proto.h"

namespace longshore::saved_model {
namespace {

using tensor::Shape;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

tensorflow::TensorSliceProto ProtoOf(const Slice& slice) {
  tensorflow::TensorSliceProto proto;
  for (size_t i = 0; i < slice.starts.size(); ++i) {
    auto* extent = proto.add_extent();
    extent->set_start(slice.starts[i]);
    extent->set_length(slice.sizes[i]);
  }
  return proto;
}

class BundleTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = Path(testing::TempDir()) /
           fmt::format("bundle_test_{}_{}", getpid(), testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    tensorflow::BundleHeaderProto header;
    header.set_num_shards(1);
    entries_[""] = header.SerializeAsString();
  }
  void TearDown() override { fs::remove_all(dir_); }

  // Stores an int32 tensor under the key, with the values first, first + 1, and so on.
  void Store(const std::string& key, const Shape& shape, int32_t first) {
    std::vector<int32_t> values(static_cast<size_t>(*tensor::ElementCount(shape)));
    std::iota(values.begin(), values.end(), first);
    const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int32_t));
    auto entry = EntryOf(shape);
    entry.set_offset(static_cast<int64_t>(data_.size()));
    entry.set_size(static_cast<int64_t>(bytes.size()));
    entry.set_crc32c(MaskCrc32c(Crc32c(bytes)));
    entries_[key] = entry.SerializeAsString();
    data_ += bytes;
  }

  // Stores tensor "v" in parts. The values of the first part are 0, 1, ..., of the second 100, 101, ..., and so on.
  void StoreInParts(const Shape& shape, const std::vector<Slice>& slices) {
    auto entry = EntryOf(shape);
    entry.set_size(INT64_MAX);  // The size in the entry of a partitioned tensor is ignored.
    for (size_t i = 0; i < slices.size(); ++i) {
      *entry.add_slices() = ProtoOf(slices[i]);
      Store(SliceKey("v", ProtoOf(slices[i])), slices[i].sizes, static_cast<int32_t>(100 * i));
    }
    entries_["v"] = entry.SerializeAsString();
  }

  Result<Bundle> Open() {
    leveldb::WritableFile* file = nullptr;
    EXPECT_TRUE(leveldb::Env::Default()->NewWritableFile(dir_ / "variables.index", &file).ok());
    const std::unique_ptr<leveldb::WritableFile> owned(file);
    leveldb::TableBuilder builder(leveldb::Options(), file);
    for (const auto& [key, value] : entries_) builder.Add(key, value);
    EXPECT_TRUE(builder.Finish().ok());
    EXPECT_TRUE(file->Close().ok());
    EXPECT_TRUE(WriteFileAtomically(dir_ / "variables.data-00000-of-00001", data_));
    return Bundle::Open(dir_ / "variables");
  }

  static tensorflow::BundleEntryProto EntryOf(const Shape& shape) {
    tensorflow::BundleEntryProto entry;
    entry.set_dtype(tensorflow::DT_INT32);
    tensor::ShapeToProto(shape, entry.mutable_shape());
    return entry;
  }

  Path dir_;
  std::map<std::string, std::string> entries_;
  std::string data_;
};

// Returns the number of bytes that this process has read from files.
size_t BytesRead() {
  std::ifstream io("/proc/self/io");
  std::string word;
  size_t bytes = 0;
  io >> word >> bytes;
  EXPECT_EQ(word, "rchar:");
  return bytes;
}

TEST_F(BundleTest, AssemblesATensorFromItsParts) {
  StoreInParts({2, 4}, {{{0, 0}, {2, 1}}, {{0, 1}, {1, 3}}, {{1, 1}, {1, 3}}});
  const auto bundle = Open();
  ASSERT_TRUE(bundle) << ToString(bundle.error());
  EXPECT_THAT(bundle->Read("v")->values<int32_t>(), ElementsAre(0, 100, 101, 102, 1, 200, 201, 202));
  EXPECT_EQ(bundle->stored_bytes(), static_cast<int64_t>(data_.size()));
}

TEST_F(BundleTest, ReadsStoredPartsAndOtherParts) {
  StoreInParts({4}, {{{0}, {2}}, {{2}, {2}}});
  const std::vector<SliceSpec> requested = {*ParseSlice("4 2,2"), *ParseSlice("4 1,2"), *ParseSlice("4 3,0")};
  const auto parts = Open()->ReadSlices("v", requested);
  ASSERT_TRUE(parts) << ToString(parts.error());
  EXPECT_THAT((*parts)[0].values<int32_t>(), ElementsAre(100, 101));
  EXPECT_THAT((*parts)[1].values<int32_t>(), ElementsAre(1, 100));
  EXPECT_EQ((*parts)[2].shape(), Shape{0});
}

TEST_F(BundleTest, RejectsPartsThatDoNotCoverTheTensorExactly) {
  const std::vector<std::pair<std::vector<Slice>, std::string>> wrong = {
      {{{{0}, {2}}, {{0}, {2}}}, "overlap"},
      {{{{0}, {3}}, {{2}, {1}}}, "overlap"},
      {{{{0}, {3}}, {{2}, {2}}}, "overlap"},
      {{{{0}, {2}}, {{2}, {0}}, {{2}, {2}}}, "a part has no elements"},
      {{{{0}, {2}}}, "do not cover its shape [4]"},
      {{{{0}, {2}}, {{3}, {1}}}, "do not cover its shape [4]"},
      {{{{0}, {2}}, {{2}, {3}}}, "not within its shape [4]"},
      {{{{0}, {2}}, {{-1}, {2}}}, "not within its shape [4]"},
      {{{{0}, {4}}, {{INT64_MAX}, {4}}}, "not within its shape [4]"}};
  for (const auto& [slices, why] : wrong) {
    StoreInParts({4}, slices);
    const auto refused = Open();
    ASSERT_FALSE(refused) << why;
    EXPECT_EQ(refused.error().code, Code::kDataLoss);
    EXPECT_THAT(refused.error().message, AllOf(HasSubstr("variables.index: tensor \"v\""), HasSubstr(why)));
  }
}

TEST_F(BundleTest, RejectsARepeatedPartWithoutElements) {
  StoreInParts({2, 0}, {{{0, 0}, {1, 0}}, {{1, 0}, {1, 0}}});
  EXPECT_TRUE(Open());
  StoreInParts({2, 0}, {{{0, 0}, {1, 0}}, {{0, 0}, {1, 0}}});
  EXPECT_EQ(Open().error().code, Code::kDataLoss);
}

// Open rejects the index before it looks for the parts, none of which exist.
TEST_F(BundleTest, RejectsTooManyPartsInTotal) {
  auto entry = EntryOf({kPartsMax});
  for (int i = 0; i < kPartsMax; ++i) *entry.add_slices() = ProtoOf({{i}, {1}});
  for (int i = 0; i <= kPartsInAllMax / kPartsMax; ++i) entries_[fmt::format("v{:02}", i)] = entry.SerializeAsString();
  const auto refused = Open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("variables.index has more than 100000 parts"));
}

TEST_F(BundleTest, RejectsRequestsWithAnotherShape) {
  Store("w", {4, 4}, 0);
  const auto bundle = Open();
  ASSERT_TRUE(bundle);
  for (const char* text : {"10 4 6,2:-", "4 -", "16 4,4", "4 4 1 -:-:-"}) {
    const auto spec = ParseSlice(text);
    ASSERT_TRUE(spec) << text;
    const auto refused = bundle->ReadSlices("w", {&*spec, 1});
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message, HasSubstr("variables.index: tensor \"w\" has the shape [4,4]"));
  }
}

TEST_F(BundleTest, ReadsEachByteOnceForAnyNumberOfParts) {
  constexpr int64_t kRows = 64, kRowBytes = 4096;
  const Shape shape = {kRows, kRowBytes / 4};
  std::vector<Slice> rows;
  std::vector<SliceSpec> requested;
  for (int64_t row = 0; row < kRows; ++row) {
    rows.push_back({{row, 0}, {1, shape[1]}});
    requested.push_back({.whole = shape, .part = rows.back()});
  }
  StoreInParts(shape, rows);
  Store("whole", shape, 0);
  const auto bundle = Open();
  ASSERT_TRUE(bundle) << ToString(bundle.error());
  for (const char* name : {"v", "whole"}) {
    const size_t before = BytesRead();
    ASSERT_TRUE(bundle->ReadSlices(name, requested));
    EXPECT_LT(BytesRead() - before, 2 * kRows * kRowBytes) << name;
  }
}

TEST_F(BundleTest, ReadsOnlyTheRequestedParts) {
  StoreInParts({4}, {{{0}, {2}}, {{2}, {2}}});
  data_[0] ^= 1;
  const auto bundle = Open();
  const auto second = *ParseSlice("4 2,2"), first = *ParseSlice("4 1,2");
  EXPECT_TRUE(bundle->ReadSlices("v", {&second, 1}));
  EXPECT_EQ(bundle->ReadSlices("v", {&first, 1}).error().code, Code::kDataLoss);
}

TEST_F(BundleTest, CountsTheBytesOfTheRequestedParts) {
  StoreInParts({4}, {{{0}, {2}}, {{2}, {2}}});
  const std::vector<SliceSpec> requested = {*ParseSlice("4 2,2"), *ParseSlice("4 1,2"), *ParseSlice("4 3,0")};
  const auto cost = Open()->CostOf("v", requested);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->given_bytes, (2 + 2) * sizeof(int32_t));
  EXPECT_EQ(cost->read_bytes,
            4 * sizeof(int32_t) + 2 * 3 * 16U);  // Each stored part once, plus 16 for each comparison.
  EXPECT_EQ(Open()->CostOf("v", {&requested[2], 1})->read_bytes, 2 * 16U);
  EXPECT_EQ(Open()->CostOf("v", std::vector<SliceSpec>(kPartsMax + 1, requested[0])).error().code,
            Code::kResourceExhausted);
}

// The nine stored bytes are the lengths, their checksum and the strings.
TEST_F(BundleTest, CountsAllStringsOfAStoredPartForEachRequestedString) {
  auto entry = EntryOf({2});
  entry.set_dtype(tensorflow::DT_STRING);
  entry.set_size(9);
  entries_["s"] = entry.SerializeAsString();
  data_.resize(9);
  const std::vector<SliceSpec> requested = {*ParseSlice("2 0,1"), *ParseSlice("2 1,1"), *ParseSlice("2 1,0")};
  const auto cost = Open()->CostOf("s", requested);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->given_bytes, 2 * 9U);
}

// Entries may share bytes, so the sizes in the index can exceed those of all files.
TEST_F(BundleTest, RejectsTensorsAboveTheLimitOfBytes) {
  auto entry = EntryOf({2});
  entry.set_size(INT64_MAX / 2);
  for (const char* name : {"a", "b", "c"}) entries_[name] = entry.SerializeAsString();
  const auto refused = Open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
}

}  // namespace
}  // namespace longshore::saved_model
