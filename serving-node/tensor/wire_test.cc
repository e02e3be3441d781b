#include "serving-node/tensor/wire.h"

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "common/binary_proto/testing.h"

namespace longshore::tensor {
namespace {

using tensorflow::TensorProto;

TensorProto Parse(const std::string& text) {
  TensorProto proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto)) << text;
  return proto;
}

std::string Show(const Result<Tensor>& read) {
  if (!read) return ToString(read.error());
  TensorProto proto;
  ToProto(*read, &proto);
  return proto.ShortDebugString();
}

// Reads the bytes with the codec; nullopt if they are not a TensorProto.
std::optional<std::string> ReadByCodec(const Pieces& pieces) {
  const auto opened = WireTensor::Open(pieces, 0, pieces.size());
  if (!opened) return std::nullopt;
  const auto read = opened->Read(kFilledBytesMaxForRequests);
  if (!read && ToString(read.error()).ends_with("the bytes are not a TensorProto")) return std::nullopt;
  return Show(read);
}

std::optional<std::string> ReadByGeneratedCode(const std::string& bytes) {
  TensorProto proto;
  if (!proto.ParseFromString(bytes)) return std::nullopt;
  return Show(FromProto(proto, kFilledBytesMaxForRequests));
}

const std::vector<std::string> kProtos = {
    "dtype: DT_FLOAT tensor_shape { dim { size: 2 } dim { size: 1 } } float_val: [1.5, -2]",
    "dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 1.5",
    "dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: [1, 2]",
    "dtype: DT_FLOAT tensor_shape { dim { size: 1 } } int_val: [1, 2]",
    "dtype: DT_FLOAT tensor_shape { dim { size: 0 } dim { size: 4 } }",
    "dtype: DT_FLOAT tensor_shape { dim { size: -1 } } float_val: 1",
    "dtype: DT_FLOAT tensor_shape { unknown_rank: true } float_val: 1",
    "dtype: DT_FLOAT tensor_shape { dim { size: 1 name: 'rows' } } float_val: 1",
    "dtype: DT_FLOAT float_val: 1",
    "dtype: DT_FLOAT tensor_shape { dim { size: 1 } } version_number: 3 tensor_content: '\\000\\000\\200\\077'",
    "dtype: DT_FLOAT tensor_shape { dim { size: 1 } } tensor_content: '\\000\\000\\200'",
    "dtype: DT_DOUBLE tensor_shape { dim { size: 2 } } double_val: [1e300, -0.0]",
    "dtype: DT_DOUBLE tensor_shape { dim { size: 2305843009213693952 } }",
    "dtype: DT_INT32 tensor_shape { dim { size: 3 } } int_val: [1, -1, 2147483647]",
    "dtype: DT_INT8 tensor_shape { dim { size: 2 } } int_val: [-128, 300]",
    "dtype: DT_UINT8 tensor_shape { dim { size: 2 } } int_val: [255, -1]",
    "dtype: DT_INT16 tensor_shape { dim { size: 1 } } int_val: -32768",
    "dtype: DT_UINT16 tensor_shape { dim { size: 1 } } int_val: 65535",
    "dtype: DT_INT64 tensor_shape { dim { size: 2 } } int64_val: [-9223372036854775808, 9223372036854775807]",
    "dtype: DT_UINT32 tensor_shape { dim { size: 1 } } uint32_val: 4294967295",
    "dtype: DT_UINT64 tensor_shape { dim { size: 1 } } uint64_val: 18446744073709551615",
    "dtype: DT_BOOL tensor_shape { dim { size: 2 } } bool_val: [true, false]",
    "dtype: DT_BOOL tensor_shape { dim { size: 2 } } tensor_content: '\\001\\002'",
    "dtype: DT_HALF tensor_shape { dim { size: 2 } } half_val: [15360, 31744]",
    "dtype: DT_BFLOAT16 tensor_shape { dim { size: 1 } } half_val: 16256",
    "dtype: DT_COMPLEX64 tensor_shape { dim { size: 1 } } scomplex_val: [1, 2]",
    "dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: ['', 'abc']",
    "dtype: DT_STRING tensor_shape { dim { size: 3 } } string_val: ['a', 'b']",
    "dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: ['a', 'b']",
    "dtype: DT_STRING tensor_shape { dim { size: 1 } } tensor_content: 'a'",
    "dtype: DT_STRING tensor_shape {}",
    "dtype: DT_VARIANT tensor_shape { dim { size: 1 } } variant_val {}",
    "dtype: DT_COMPLEX128 tensor_shape { dim { size: 1 } } dcomplex_val: [1, 2]",
    "tensor_shape { dim { size: 1 } } float_val: 1",
};

TEST(WireTensor, IsReadAsByGeneratedCodeHoweverTheBytesAreSplit) {
  for (const std::string& text : kProtos) {
    const std::string bytes = Parse(text).SerializeAsString();
    for (const size_t size : {size_t{1}, size_t{3}, size_t{1000}})
      EXPECT_EQ(ReadByCodec(Split(bytes, size)), ReadByGeneratedCode(bytes)) << text;
  }
}

TEST(WireTensor, AcceptsFieldsInAnyOrderAndMoreThanOnce) {
  const std::string type = Parse("dtype: DT_INT32").SerializeAsString();
  const std::string shape = Parse("tensor_shape { dim { size: 2 } }").SerializeAsString();
  const std::string values = Parse("int_val: [7, 8]").SerializeAsString();
  const std::string one = Parse("int_val: [7]").SerializeAsString();
  const std::string unpacked = "\x38\x07\x38\x08";  // Field 7 twice, each a varint.
  const std::string huge =
      Parse("dtype: DT_DOUBLE tensor_shape { dim { size: 2305843009213693952 } }").SerializeAsString();
  const std::string none = {'\x32', '\0'};     // Field 6 with no values.
  const std::string unknown = "\xa0\x06\x01";  // Field 100.
  for (const std::string& bytes :
       {values + shape + type, type + shape + one + one, type + shape + unpacked, type + shape + shape + values,
        type + unknown + shape + values, type + type + shape + values, type + shape + values + unknown, huge + none}) {
    EXPECT_EQ(ReadByCodec(Split(bytes, 2)), ReadByGeneratedCode(bytes));
  }
}

TEST(WireTensor, AgreesWithGeneratedCodeOnDamagedBytes) {
  const google::protobuf::LogSilencer silencer;
  Damage damage;
  for (int i = 0; i < 20000; ++i) {
    const std::string bytes = damage.Change(Parse(kProtos[damage.Below(kProtos.size())]).SerializeAsString());
    EXPECT_EQ(ReadByCodec(Split(bytes, 1 + damage.Below(8))), ReadByGeneratedCode(bytes))
        << testing::PrintToString(bytes);
  }
}

TEST(WireTensor, IsWrittenAsByGeneratedCode) {
  for (const std::string& text : kProtos) {
    const auto tensor = FromProto(Parse(text));
    if (!tensor) continue;
    for (const Encoding encoding : {Encoding::kTypedFields, Encoding::kContent}) {
      TensorProto expected;
      ToProto(*tensor, &expected, encoding);
      PiecesBuilder builder;
      AppendTo(*tensor, encoding, &builder);
      const std::string written = builder.Build().ToString();
      EXPECT_EQ(WireBytes(*tensor, encoding), written.size()) << text;
      TensorProto read;
      ASSERT_TRUE(read.ParseFromString(written)) << text;
      EXPECT_EQ(read.ShortDebugString(), expected.ShortDebugString());
    }
  }
}

TEST(WireTensor, IsWrittenWithoutACopyOfALargeBuffer) {
  const Tensor tensor = *Tensor::Make(DType::kFloat, {2, 2000});
  PiecesBuilder builder;
  AppendTo(tensor, Encoding::kTypedFields, &builder);
  EXPECT_EQ(builder.Build().all().at(1).bytes.data(), reinterpret_cast<const char*>(tensor.data()));
  AppendTo(Tensor::Of<std::string>({2}, {std::string(5000, 'x'), ""}), Encoding::kTypedFields, &builder);
  EXPECT_EQ(builder.Build().all().size(), 1U) << "a string would keep the other strings in memory";
  AppendTo(tensor.Rows(1, 2), Encoding::kTypedFields, &builder);
  EXPECT_EQ(builder.Build().all().size(), 1U) << "a row would keep the whole tensor in memory";
}

}  // namespace
}  // namespace longshore::tensor
