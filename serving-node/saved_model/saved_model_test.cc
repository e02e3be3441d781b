// Reads a model that TensorFlow wrote, and copies of it that are damaged or incomplete.
#include "serving-node/saved_model/saved_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/os/file.h"
#include "serving-node/saved_model/bundle.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::saved_model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

const Path kModel = source_tree::Root() / "tests" / "models" / "half_plus_two_tf2" / "1";
constexpr char kA[] = "a/.ATTRIBUTES/VARIABLE_VALUE";
constexpr char kIndex[] = "variables/variables.index";
constexpr char kData[] = "variables/variables.data-00000-of-00001";

// Makes a copy of the model that tests may damage, and removes it afterwards.
class SavedModelTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = Path(testing::TempDir()) / fmt::format("saved_model_test_{}_{}", getpid(),
                                                  testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(dir_);
    fs::copy(kModel, dir_, fs::copy_options::recursive);
  }
  void TearDown() override { fs::remove_all(dir_); }

  std::string Read(const std::string& file) { return *ReadFile(dir_ / file); }
  void Write(const std::string& file, const std::string& bytes) {
    ASSERT_TRUE(WriteFileAtomically(dir_ / file, bytes));
  }
  Result<Bundle> Open() { return Bundle::Open(VariablesPrefix(dir_)); }

  // Returns an error if a tensor of the copy cannot be read.
  Status ReadAll() {
    ASSIGN_OR_RETURN(const Bundle bundle, Open());
    for (const auto& [name, entry] : bundle.entries()) RETURN_IF_ERROR(bundle.Read(name));
    return {};
  }

  Path dir_;
};

TEST_F(SavedModelTest, ReadsVariablesAndStrings) {
  const auto bundle = Open();
  ASSERT_TRUE(bundle) << ToString(bundle.error());
  EXPECT_THAT(bundle->Read(kA)->values<float>(), ElementsAre(0.5F));
  EXPECT_THAT(bundle->Read("b/.ATTRIBUTES/VARIABLE_VALUE")->values<float>(), ElementsAre(2.0F));
  EXPECT_THAT(bundle->Read("_CHECKPOINTABLE_OBJECT_GRAPH")->values<std::string>()[0], HasSubstr("VARIABLE_VALUE"));
  EXPECT_EQ(bundle->Read("c").error().code, Code::kNotFound);
  EXPECT_EQ(bundle->stored_bytes(), static_cast<int64_t>(Read(kData).size()));
}

TEST_F(SavedModelTest, RejectsAMissingIndex) {
  fs::remove(dir_ / kIndex);
  EXPECT_EQ(Open().error().code, Code::kNotFound);
}

TEST_F(SavedModelTest, ReportsAMissingDataFileAsIncompleteCopy) {
  fs::remove(dir_ / kData);
  const auto refused = Open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("data-00000-of-00001 is missing; it stores tensor"));
}

TEST_F(SavedModelTest, ReportsATruncatedDataFileAsIncompleteCopy) {
  const std::string bytes = Read(kData);
  for (size_t size = 0; size < bytes.size(); size += 7) {
    Write(kData, bytes.substr(0, size));
    const auto refused = Open();
    ASSERT_FALSE(refused) << size;
    EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(refused.error().message, HasSubstr(fmt::format("has {} bytes", size)));
  }
}

TEST_F(SavedModelTest, RejectsEveryDamagedByteOfTheData) {
  const std::string bytes = Read(kData);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x04);
    Write(kData, damaged);
    const auto status = ReadAll();
    ASSERT_FALSE(status) << at;
    EXPECT_EQ(status.error().code, Code::kDataLoss) << at;
    EXPECT_THAT(status.error().message, HasSubstr("tensor \""));
  }
}

TEST_F(SavedModelTest, RejectsATruncatedIndexOfAnyLength) {
  const std::string bytes = Read(kIndex);
  for (size_t size = 0; size < bytes.size(); ++size) {
    Write(kIndex, bytes.substr(0, size));
    const auto status = ReadAll();
    ASSERT_FALSE(status) << size;
    EXPECT_EQ(status.error().code, Code::kDataLoss) << size;
  }
}

// Bytes without a checksum, such as the padding of the footer, may be wrong without an effect.
TEST_F(SavedModelTest, NeverReturnsWrongValuesFromADamagedIndex) {
  const std::string bytes = Read(kIndex);
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int bit : {0, 7}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      Write(kIndex, damaged);
      const auto bundle = Open();
      if (!bundle || !bundle->Has(kA)) continue;
      const auto value = bundle->Read(kA);
      if (!value) continue;
      EXPECT_THAT(value->values<float>(), ElementsAre(0.5F)) << at;
    }
  }
}

TEST_F(SavedModelTest, FindsAGraphOnlyByItsExactTags) {
  EXPECT_TRUE(ReadMetaGraph(dir_, {"serve"}));
  const auto refused = ReadMetaGraph(dir_, {"serve", "gpu"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kNotFound);
  EXPECT_THAT(refused.error().message, HasSubstr("no graph with the tags [gpu, serve]; it has [serve]"));
}

TEST_F(SavedModelTest, RejectsAMissingOrDamagedGraph) {
  Write("saved_model.pb", "");
  EXPECT_EQ(ReadMetaGraph(dir_, {"serve"}).error().code, Code::kDataLoss);
  Write("saved_model.pb", std::string(100, '\xff'));
  EXPECT_EQ(ReadMetaGraph(dir_, {"serve"}).error().code, Code::kDataLoss);
  fs::remove(dir_ / "saved_model.pb");
  EXPECT_EQ(ReadMetaGraph(dir_, {"serve"}).error().code, Code::kNotFound);
  Write("saved_model.pbtxt", "");
  EXPECT_EQ(ReadMetaGraph(dir_, {"serve"}).error().code, Code::kUnimplemented);
  fs::rename(dir_ / "saved_model.pbtxt", dir_ / "saved_model.cpb");
  EXPECT_THAT(ReadMetaGraph(dir_, {"serve"}).error().message,
              HasSubstr("export again without experimental_image_format"));
}

TEST(Slices, ParsesTheFormatOfRestore) {
  EXPECT_EQ(*ParseSlice("10 4 2,5:-"), (SliceSpec{{10, 4}, {{2, 0}, {5, 4}}}));
  EXPECT_EQ(*ParseSlice("10 4 -:0,1"), (SliceSpec{{10, 4}, {{0, 0}, {10, 1}}}));
  for (const char* wrong :
       {"", "10", "10 4", "10 4 2,5", "10 2,5:-", "10 4 6,5:-", "10 4 -1,5:-", "10 x -:-", "10 4 --:"})
    EXPECT_EQ(ParseSlice(wrong).error().code, Code::kInvalidArgument) << wrong;
}

TEST(Slices, EncodesKeysSoThatTheySort) {
  tensorflow::TensorSliceProto slice;
  slice.add_extent();  // The whole dimension.
  slice.add_extent()->set_start(64);
  slice.mutable_extent(1)->set_length(5);
  using std::string_literals::operator""s;
  EXPECT_EQ(SliceKey("v", slice), "\x00v\x00\x01\x01\x02\x80\x7f\xc0\x40\x85"s);
}

TEST(Slices, DistinguishesKeysOfSlicesFromTensorNames) {
  tensorflow::TensorSliceProto slice;
  slice.add_extent();
  EXPECT_TRUE(IsSliceKey(SliceKey("v", slice)));
  EXPECT_FALSE(IsSliceKey("v"));
}

TEST(Slices, CopiesTheOverlap) {
  const auto from = tensor::Tensor::Of<int32_t>({2, 2}, {1, 2, 3, 4});  // At [1,1] of the whole tensor.
  auto to = tensor::Tensor::Of<int32_t>({2, 3}, {0, 0, 0, 0, 0, 0});    // At [2,0] of the whole tensor.
  CopyOverlap(from, {{1, 1}, {2, 2}}, {{2, 0}, {2, 3}}, &to);
  EXPECT_THAT(to.values<int32_t>(), ElementsAre(0, 3, 4, 0, 0, 0));
}

TEST_F(SavedModelTest, RejectsAssetsOutsideTheirFolder) {
  fs::create_directories(dir_ / "assets");
  Write("assets/words.txt", "one\n");
  tensorflow::AssetFileDef asset;
  asset.set_filename("words.txt");
  EXPECT_EQ(*AssetPath(dir_, asset), dir_ / "assets" / "words.txt");
  asset.set_filename("missing.txt");
  EXPECT_EQ(*AssetPath(dir_, asset), dir_ / "assets" / "missing.txt") << "only an op that reads it needs the file";
  for (const char* outside : {"../saved_model.pb", "/etc/passwd", "a/../../saved_model.pb", ""}) {
    asset.set_filename(outside);
    EXPECT_EQ(AssetPath(dir_, asset).error().code, Code::kDataLoss) << outside;
  }
}

TEST_F(SavedModelTest, FindsAssetsOfTensorFlow1InTheCollection) {
  auto model = ReadSavedModel(dir_);
  ASSERT_TRUE(model);
  auto* graph = model->mutable_meta_graphs(0);
  tensorflow::AssetFileDef asset;
  asset.set_filename("words.txt");
  (*graph->mutable_collection_def())["saved_model_assets"].mutable_any_list()->add_value()->PackFrom(asset);
  Write("saved_model.pb", model->SerializeAsString());
  const auto read = ReadMetaGraph(dir_, {"serve"});
  ASSERT_TRUE(read);
  ASSERT_EQ(read->asset_file_def_size(), 1);
  EXPECT_EQ(read->asset_file_def(0).filename(), "words.txt");
}

}  // namespace
}  // namespace longshore::saved_model
