#include "serving-node/tensor/proto.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "serving-node/tensor/half.h"

namespace longshore::tensor {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

tensorflow::TensorProto Proto(const std::string& text) {
  tensorflow::TensorProto proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto));
  return proto;
}

constexpr char kTwoByTwo[] = "tensor_shape { dim { size: 2 } dim { size: 2 } } ";

TEST(TensorProto, RepeatsTheLastValue) {
  const auto made = FromProto(Proto(std::string("dtype: DT_FLOAT float_val: 1 float_val: 5 ") + kTwoByTwo));
  EXPECT_THAT(made->values<float>(), ElementsAre(1, 5, 5, 5));
  const auto texts = FromProto(Proto(std::string("dtype: DT_STRING string_val: 'a' string_val: 'b' ") + kTwoByTwo));
  EXPECT_THAT(texts->values<std::string>(), ElementsAre("a", "b", "b", "b"));
}

TEST(TensorProto, IsZeroWithoutValues) {
  EXPECT_THAT(FromProto(Proto(std::string("dtype: DT_INT64 ") + kTwoByTwo))->values<int64_t>(), Each(0));
  EXPECT_THAT(FromProto(Proto(std::string("dtype: DT_STRING ") + kTwoByTwo))->values<std::string>(), Each(""));
}

TEST(TensorProto, ReadsTensorContent) {
  const auto made = FromProto(
      Proto(R"(dtype: DT_INT32 tensor_shape { dim { size: 2 } } tensor_content: "\001\000\000\000\377\377\377\377")"));
  EXPECT_THAT(made->values<int32_t>(), ElementsAre(1, -1));
}

TEST(TensorProto, ReadsHalvesAsBits) {
  const auto made = FromProto(Proto("dtype: DT_HALF tensor_shape { dim { size: 2 } } half_val: 15360 half_val: 49152"));
  const auto* bits = reinterpret_cast<const uint16_t*>(made->data());
  EXPECT_EQ(HalfToFloat(bits[0]), 1.0F);
  EXPECT_EQ(HalfToFloat(bits[1]), -2.0F);
}

// Both encodings are those of tf.make_tensor_proto, which puts one value into int_val and several values into
// tensor_content.
TEST(TensorProto, ReadsAndWritesQuantisedIntegersInBothEncodings) {
  struct Written {
    const char* type;
    int64_t lowest;
    const char* content;  // The bytes of two values: `lowest`, and then -3, or 3 if the type is unsigned.
  };
  const auto values = [](const Tensor& tensor) {
    std::vector<int64_t> read;
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const std::byte* at = tensor.data() + static_cast<size_t>(i) * ElementBytes(tensor.type());
      switch (tensor.type()) {
        case DType::kQint8: read.push_back(*reinterpret_cast<const int8_t*>(at)); break;
        case DType::kQuint8: read.push_back(*reinterpret_cast<const uint8_t*>(at)); break;
        case DType::kQint16: read.push_back(*reinterpret_cast<const int16_t*>(at)); break;
        case DType::kQuint16: read.push_back(*reinterpret_cast<const uint16_t*>(at)); break;
        default: read.push_back(*reinterpret_cast<const int32_t*>(at));
      }
    }
    return read;
  };
  for (const auto& [type, lowest, content] :
       {Written{"DT_QINT8", INT8_MIN, R"(\200\375)"}, Written{"DT_QUINT8", 0, R"(\000\003)"},
        Written{"DT_QINT16", INT16_MIN, R"(\000\200\375\377)"}, Written{"DT_QUINT16", 0, R"(\000\000\003\000)"},
        Written{"DT_QINT32", INT32_MIN, R"(\000\000\000\200\375\377\377\377)"}}) {
    const int64_t other = lowest < 0 ? -3 : 3;
    const std::string of_two = fmt::format("dtype: {} tensor_shape {{ dim {{ size: 2 }} }} ", type);
    const auto fields = Proto(fmt::format("{} int_val: {} int_val: {}", of_two, lowest, other));
    const auto packed = Proto(fmt::format("{} tensor_content: \"{}\"", of_two, content));
    for (const auto& [proto, encoding] :
         {std::pair{fields, Encoding::kTypedFields}, std::pair{packed, Encoding::kContent}}) {
      const auto made = FromProto(proto);
      ASSERT_TRUE(made) << ToString(made.error());
      EXPECT_THAT(values(*made), ElementsAre(lowest, other)) << type;
      tensorflow::TensorProto again;
      ToProto(*made, &again, encoding);
      EXPECT_EQ(again.DebugString(), proto.DebugString());
    }
    EXPECT_THAT(values(*FromProto(Proto(fmt::format("{} int_val: {}", of_two, other)))), ElementsAre(other, other));
  }
}

TEST(TensorProto, ReadsComplexNumbersAsPairs) {
  const auto made =
      FromProto(Proto("dtype: DT_COMPLEX64 tensor_shape { dim { size: 2 } } scomplex_val: 1 scomplex_val: 2"));
  const auto* values = reinterpret_cast<const std::complex<float>*>(made->data());
  EXPECT_EQ(values[1], (std::complex<float>{1, 2}));
}

TEST(TensorProto, RejectsValuesThatDoNotMatchTheShapeOrType) {
  const auto refused = [](const std::string& text) { return FromProto(Proto(text)).error().message; };
  EXPECT_THAT(refused("dtype: DT_FLOAT float_val: 1 float_val: 2"),
              HasSubstr("2 values given for a tensor of shape []"));
  EXPECT_THAT(refused("dtype: DT_FLOAT tensor_content: 'abc'"), HasSubstr("holds 3 bytes"));
  EXPECT_THAT(refused("dtype: DT_STRING tensor_content: 'abc'"), HasSubstr("cannot hold strings"));
  EXPECT_THAT(refused("dtype: DT_BOOL tensor_content: '\\002'"), HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(refused("dtype: DT_FLOAT tensor_shape { unknown_rank: true }"), HasSubstr("known rank"));
  EXPECT_THAT(refused("dtype: DT_FLOAT tensor_shape { dim { size: -1 } }"), HasSubstr("negative size"));
  EXPECT_THAT(refused("dtype: DT_COMPLEX64 scomplex_val: 1"), HasSubstr("not an even number"));
  EXPECT_THAT(refused("dtype: DT_VARIANT"), HasSubstr("DT_VARIANT"));
}

TEST(TensorProto, RejectsALargeShapeWithOneValue) {
  const auto refused = FromProto(Proto("dtype: DT_FLOAT float_val: 1 tensor_shape { dim { size: 1000000000 } }"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
}

TEST(TensorProto, RoundTripsInBothEncodings) {
  for (const auto encoding : {Encoding::kTypedFields, Encoding::kContent}) {
    for (const Tensor& tensor :
         {Tensor::Of<float>({2}, {1.5F, -2}), Tensor::Of<double>({1, 2}, {1e300, 0}),
          Tensor::Of<bool>({2}, {true, false}), Tensor::Of<int8_t>({2}, {-128, 127}),
          Tensor::Of<uint8_t>({2}, {0, 255}), Tensor::Of<int16_t>({1}, {-3}), Tensor::Of<uint16_t>({1}, {65535}),
          Tensor::Of<int32_t>({}, {-7}), Tensor::Of<int64_t>({1}, {INT64_MIN}), Tensor::Of<uint32_t>({1}, {UINT32_MAX}),
          Tensor::Of<uint64_t>({1}, {UINT64_MAX}), Tensor::Of<float>({0, 3}, {})}) {
      tensorflow::TensorProto proto;
      ToProto(tensor, &proto, encoding);
      const auto back = FromProto(proto);
      ASSERT_TRUE(back) << ToString(back.error());
      EXPECT_EQ(back->type(), tensor.type());
      EXPECT_EQ(back->shape(), tensor.shape());
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(back->data()), back->bytes()),
                std::string(reinterpret_cast<const char*>(tensor.data()), tensor.bytes()))
          << DTypeName(tensor.type());
    }
  }
}

tensorflow::TensorProto OneValueFor(tensorflow::DataType type, int64_t elements) {
  tensorflow::TensorProto proto;
  proto.set_dtype(type);
  proto.mutable_tensor_shape()->add_dim()->set_size(elements);
  if (type == tensorflow::DT_STRING)
    proto.add_string_val(std::string(1000, 'x'));
  else
    proto.add_float_val(1);
  return proto;
}

TEST(TensorProto, FillsInAtMostTheAllowedBytes) {
  EXPECT_TRUE(FromProto(OneValueFor(tensorflow::DT_FLOAT, 8193), kFilledBytesMaxForRequests));
  const auto refused = FromProto(OneValueFor(tensorflow::DT_FLOAT, 8194), kFilledBytesMaxForRequests);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "a tensor of shape [8194] has 8194 elements, of which 1 are given: filling in the others needs more than "
            "32768 bytes");
  EXPECT_TRUE(FromProto(OneValueFor(tensorflow::DT_FLOAT, 8194)));  // The limit for a constant of a graph is higher.
  EXPECT_TRUE(FromProto(OneValueFor(tensorflow::DT_STRING, 30), kFilledBytesMaxForRequests));
  EXPECT_FALSE(FromProto(OneValueFor(tensorflow::DT_STRING, 40), kFilledBytesMaxForRequests));
}

TEST(TensorProto, DoesNotCountValuesOfAnotherType) {
  auto proto = OneValueFor(tensorflow::DT_STRING, 40);
  for (int i = 0; i < 40; ++i) proto.add_int_val(i);
  const auto refused = FromProto(proto, kFilledBytesMaxForRequests);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "a tensor of shape [40] has 40 elements, of which 1 are given: filling in the others needs more than 32768 "
            "bytes");
}

TEST(TensorProto, AlwaysWritesStringsIntoTheirField) {
  tensorflow::TensorProto proto;
  ToProto(Tensor::Of<std::string>({2}, {"a", std::string("\0b", 2)}), &proto, Encoding::kContent);
  EXPECT_EQ(proto.string_val_size(), 2);
  EXPECT_EQ(proto.string_val(1), std::string("\0b", 2));
  EXPECT_TRUE(proto.tensor_content().empty());
}

TEST(TensorProto, MatchesPatternsWithUnknownSizes) {
  EXPECT_TRUE(Matches({2, 3}, Shape{-1, 3}));
  EXPECT_FALSE(Matches({2, 3}, Shape{-1, 4}));
  EXPECT_FALSE(Matches({2}, Shape{-1, 4}));
  EXPECT_TRUE(Matches({2}, std::nullopt));
  EXPECT_EQ(ToString(std::optional<Shape>()), "<unknown rank>");
}

}  // namespace
}  // namespace longshore::tensor
