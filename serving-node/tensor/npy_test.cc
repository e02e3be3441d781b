#include "serving-node/tensor/npy.h"

#include <gmock/gmock.h>

#include <cstring>

namespace longshore::tensor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A file as numpy.save writes it; by default version 1.
std::string File(std::string header, std::string_view data, char version = 1) {
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  header.push_back('\n');
  for (size_t i = 0, size = header.size(); i < (version == 1 ? 2U : 4U); ++i, size >>= 8)
    bytes.push_back(static_cast<char>(size & 0xFF));
  return bytes + header + std::string(data);
}

std::string Dictionary(std::string_view descr, std::string_view shape, std::string_view fortran = "False") {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}   ", descr, fortran, shape);
}

std::string Raw(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::string MessageOf(const Result<Tensor>& parsed) { return parsed ? "parsed" : parsed.error().message; }

TEST(Npy, ReadsWhatItWrites) {
  const Tensor written = Tensor::Of<float>({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  const auto bytes = ToNpy(written);
  ASSERT_TRUE(bytes);
  EXPECT_EQ((bytes->size() - written.bytes()) % 64, 0U);
  EXPECT_THAT(*bytes, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 3), }"));
  const auto read = ParseNpy(*bytes);
  ASSERT_TRUE(read) << MessageOf(read);
  EXPECT_EQ(read->shape(), written.shape());
  EXPECT_THAT(read->values<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Npy, WritesScalarsAndVectorsAsPythonWritesTuples) {
  EXPECT_THAT(*ToNpy(Tensor::Of<int64_t>({}, {7})), HasSubstr("'shape': (), }"));
  EXPECT_THAT(*ToNpy(Tensor::Of<int64_t>({3}, {7, 8, 9})),
              HasSubstr("'<i8', 'fortran_order': False, 'shape': (3,), }"));
  EXPECT_THAT(*ToNpy(Tensor::Of<bool>({1, 0}, {})), HasSubstr("'|b1', 'fortran_order': False, 'shape': (1, 0), }"));
}

TEST(Npy, WritesQuantisedIntegersAsPlainIntegers) {
  const std::pair<DType, const char*> wanted[] = {{DType::kQint8, "'|i1'"},
                                                  {DType::kQuint8, "'|u1'"},
                                                  {DType::kQint16, "'<i2'"},
                                                  {DType::kQuint16, "'<u2'"},
                                                  {DType::kQint32, "'<i4'"}};
  for (const auto& [type, descr] : wanted) {
    Tensor tensor = *Tensor::Make(type, {2});
    std::memcpy(tensor.mutable_data(), "\xfd\x7f\x01\x02\xff\xff\xff\xff", tensor.bytes());
    const auto bytes = ToNpy(tensor);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_THAT(*bytes, HasSubstr(fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': (2,), }}", descr)));
    EXPECT_EQ(bytes->substr(bytes->size() - tensor.bytes()),
              std::string(reinterpret_cast<const char*>(tensor.data()), tensor.bytes()));
    EXPECT_EQ(ParseNpy(*bytes)->type(), TypeInNpy(type));
  }
  const auto none = ToNpy(*Tensor::Make(DType::kBfloat16, {1}));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, ".npy cannot store DT_BFLOAT16; print JSON instead");
}

TEST(Npy, ReadsBothVersionsOfTheFormat) {
  for (const char version : {'\1', '\2'}) {
    const auto read = ParseNpy(File(Dictionary("<f4", "(2,)"), Raw({0.5F, 1.5F}), version));
    ASSERT_TRUE(read) << MessageOf(read);
    EXPECT_THAT(read->values<float>(), ElementsAre(0.5F, 1.5F));
  }
  EXPECT_THAT(MessageOf(ParseNpy(File(Dictionary("<f4", "(1,)"), Raw({1}), 3))), HasSubstr("version 3"));
}

TEST(Npy, ReadsByteStringsAndUnicode) {
  const auto bytes = ParseNpy(File(Dictionary("|S3", "(2,)"), std::string_view("ab\0xyz", 6)));
  ASSERT_TRUE(bytes) << MessageOf(bytes);
  EXPECT_THAT(bytes->values<std::string>(), ElementsAre("ab", "xyz"));
  const auto unicode = ParseNpy(File(Dictionary("<U2", "(1,)"), std::string_view("\xE9\0\0\0\xAC\x20\0\0", 8)));
  ASSERT_TRUE(unicode) << MessageOf(unicode);
  EXPECT_THAT(unicode->values<std::string>(), ElementsAre("\u00e9\u20ac"));
}

TEST(Npy, ReadsEmptyArraysOfTexts) {
  for (const char* descr : {"|S5", "|S0", "<U3", "<U0"}) {
    const auto none = ParseNpy(File(Dictionary(descr, "(2, 0)"), ""));
    ASSERT_TRUE(none) << descr << ": " << MessageOf(none);
    EXPECT_THAT(none->shape(), ElementsAre(2, 0));
  }
  EXPECT_TRUE(ParseNpy(*ToNpy(Tensor::Of<std::string>({0}, {}))));
  EXPECT_FALSE(ParseNpy(File(Dictionary("|S5", "(0,)"), "abcde")));
}

TEST(Npy, WritesTextsThatItCanReadBackAndRejectsOthers) {
  const auto bytes = ToNpy(Tensor::Of<std::string>({3}, {"a", "", "long one"}));
  ASSERT_TRUE(bytes);
  EXPECT_THAT(ParseNpy(*bytes)->values<std::string>(), ElementsAre("a", "", "long one"));
  const auto lost = ToNpy(Tensor::Of<std::string>({1}, {std::string("a\0", 2)}));
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message, HasSubstr("zero byte"));
}

TEST(Npy, SaysWhatToSaveInstead) {
  EXPECT_THAT(MessageOf(ParseNpy(File(Dictionary("<f4", "(2, 2)", "True"), Raw({1, 2, 3, 4})))),
              HasSubstr("Fortran order"));
  EXPECT_THAT(MessageOf(ParseNpy(File(Dictionary("|O", "(1,)"), "x"))), HasSubstr("Python objects"));
  EXPECT_THAT(MessageOf(ParseNpy(File(Dictionary(">f4", "(1,)"), Raw({1})))), HasSubstr("x.astype(\"<f4\")"));
  EXPECT_THAT(MessageOf(ParseNpy(File("{'descr': [('a', '<f4')], 'shape': (1,)}", Raw({1})))), HasSubstr("records"));
  EXPECT_THAT(MessageOf(ParseNpy(File(Dictionary("<M8[s]", "(1,)"), "12345678"))), HasSubstr("<M8[s]"));
}

TEST(Npy, RejectsDamagedFiles) {
  const std::string whole = File(Dictionary("<f4", "(2,)"), Raw({1, 2}));
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(ParseNpy(std::string_view(whole).substr(0, size)));
  EXPECT_FALSE(ParseNpy(whole + "more"));
  EXPECT_FALSE(ParseNpy(File(Dictionary("<f4", "(9223372036854775807, 9223372036854775807)"), "")));
  EXPECT_FALSE(ParseNpy(File(Dictionary("<f4", "(-1,)"), "")));
  EXPECT_FALSE(ParseNpy(File(Dictionary("<f4", "(2, "), "")));
  EXPECT_FALSE(ParseNpy(File(Dictionary("|S99999999999999999999", "(1,)"), "abc")));
  EXPECT_FALSE(ParseNpy(File(Dictionary("|S0", "(1000000,)"), "")));
  EXPECT_FALSE(ParseNpy(File(Dictionary("<U1", "(1,)"), std::string_view("\0\xD8\0\0", 4))));
  EXPECT_FALSE(ParseNpy(File(Dictionary("|b1", "(1,)"), "\2")));
  EXPECT_FALSE(ParseNpy(File(Dictionary("", "(1,)"), "\2")));
  EXPECT_FALSE(ParseNpy(File("{", "")));
}

}  // namespace
}  // namespace longshore::tensor
