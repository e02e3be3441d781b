// Tests that requests are read as generated code would read them, and in little memory.
#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "common/binary_proto/testing.h"
#include "serving-node/frontend/oip/codec/datatype.h"
#include "serving-node/frontend/oip/codec/proto.h"

namespace longshore::frontend::oip::codec {
namespace {

using ::inference::InferTensorContents;
using ::inference::ModelInferRequest;
using tensor::DType;
using tensor::Tensor;
using testing::HasSubstr;

constexpr int64_t kElementsMax = 1000;

ModelInferRequest Message(const std::string& text) {
  ModelInferRequest message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

std::string Show(const InferRequest& request) {
  std::string text = fmt::format("{}|{}|{}|{}", request.model, request.version, request.id, request.signature);
  for (const auto& output : request.outputs) text += fmt::format("|{}:{}", output.name, output.classes);
  for (const auto& [name, values] : request.inputs) {
    text +=
        fmt::format("|{} {} {} {}", name, DatatypeName(values.type()), tensor::ToString(values.shape()), ToRaw(values));
  }
  return text;
}

std::string ReadDirectly(const Pieces& bytes) {
  OpenedRequest opened;
  if (const Status is_open = Open(bytes, &opened); !is_open) return ToString(is_open.error());
  const auto read = FromProto(std::move(opened), kElementsMax);
  return read ? Show(*read) : ToString(read.error());
}

// The plain way to read contents, by which the direct one is judged: copies the fields that generated code has read.
template <typename T, typename Field>
bool Copy(const Field& field, Tensor* tensor) {
  if (field.size() != tensor->elements()) return false;
  auto* out = reinterpret_cast<T*>(tensor->mutable_data());
  return std::ranges::all_of(field, [&](auto value) {
    *out = static_cast<T>(value);
    return value != value || static_cast<decltype(value)>(*out++) == value;
  });
}

bool CopyContents(const InferTensorContents& from, Tensor* tensor) {
  switch (tensor->type()) {
    case DType::kBool: return Copy<bool>(from.bool_contents(), tensor);
    case DType::kInt8: return Copy<int8_t>(from.int_contents(), tensor);
    case DType::kInt16: return Copy<int16_t>(from.int_contents(), tensor);
    case DType::kInt32: return Copy<int32_t>(from.int_contents(), tensor);
    case DType::kInt64: return Copy<int64_t>(from.int64_contents(), tensor);
    case DType::kUint8: return Copy<uint8_t>(from.uint_contents(), tensor);
    case DType::kUint16: return Copy<uint16_t>(from.uint_contents(), tensor);
    case DType::kUint32: return Copy<uint32_t>(from.uint_contents(), tensor);
    case DType::kUint64: return Copy<uint64_t>(from.uint64_contents(), tensor);
    case DType::kString: return Copy<std::string>(from.bytes_contents(), tensor);
    default: break;
  }
  const bool is_float = tensor->type() == DType::kFloat;
  const size_t size = is_float ? static_cast<size_t>(from.fp32_contents_size()) * sizeof(float)
                               : static_cast<size_t>(from.fp64_contents_size()) * sizeof(double);
  const void* data = is_float ? static_cast<const void*>(from.fp32_contents().data()) : from.fp64_contents().data();
  if (size != tensor->bytes()) return false;
  if (size > 0) std::memcpy(tensor->mutable_data(), data, size);
  return true;
}

int FieldsWithElements(const InferTensorContents& from) {
  const auto one = [](int size) { return size > 0 ? 1 : 0; };
  return one(from.bool_contents_size()) + one(from.int_contents_size()) + one(from.int64_contents_size()) +
         one(from.uint_contents_size()) + one(from.uint64_contents_size()) + one(from.fp32_contents_size()) +
         one(from.fp64_contents_size()) + one(from.bytes_contents_size());
}

std::optional<Tensor> InputOf(const ModelInferRequest& message, int i) {
  const auto& input = message.inputs(i);
  const auto type = DatatypeOf(input.datatype());
  const tensor::Shape shape(input.shape().begin(), input.shape().end());
  ElementBudget budget(kElementsMax);
  if (!type || !budget.Take({.model = {}, .name = {}, .shape = shape})) return std::nullopt;
  if (message.raw_input_contents_size() > 0) {
    auto read =
        FromRaw({.model = {}, .name = {}, .type = *type, .shape = shape}, message.raw_input_contents(i), &budget);
    if (input.has_contents() || !read) return std::nullopt;
    return std::move(*read);
  }
  auto tensor = Tensor::Make(*type, shape);
  if (!tensor || *type == DType::kHalf || *type == DType::kBfloat16) return std::nullopt;
  if (FieldsWithElements(input.contents()) > 1 || !CopyContents(input.contents(), &*tensor)) return std::nullopt;
  if (FieldsWithElements(input.contents()) == 1 && tensor->elements() == 0) return std::nullopt;
  return std::move(*tensor);
}

// Returns what ReadDirectly must return; "an error" for any error.
std::string ReadByGeneratedCode(const std::string& bytes) {
  ModelInferRequest message;
  if (!message.ParseFromString(bytes)) return "an error";
  const int raw = message.raw_input_contents_size();
  if (raw > 0 && raw != message.inputs_size()) return "an error";
  engine::TensorMap inputs;
  int64_t elements = 0;
  for (int i = 0; i < message.inputs_size(); ++i) {
    auto values = InputOf(message, i);
    if (!values) return "an error";
    elements += values->elements();
    if (elements > kElementsMax || !inputs.emplace(message.inputs(i).name(), *values).second) return "an error";
  }
  message.clear_raw_input_contents();
  message.clear_inputs();
  OpenedRequest opened;
  opened.head = std::move(message);
  auto read = FromProto(std::move(opened), kElementsMax);
  if (!read) return "an error";
  read->inputs = std::move(inputs);
  return Show(*read);
}

void ExpectAgree(const std::string& bytes, size_t piece) {
  const std::string expected = ReadByGeneratedCode(bytes);
  const std::string read = ReadDirectly(Split(bytes, piece));
  if (expected != "an error") {
    EXPECT_EQ(read, expected) << testing::PrintToString(bytes);
  } else {
    EXPECT_TRUE(read.starts_with("INVALID_ARGUMENT") || read.starts_with("RESOURCE_EXHAUSTED")) << read;
  }
}

const std::vector<std::string> kMessages = {
    "model_name: 'm' inputs { name: 'x' datatype: 'FP32' shape: [2] contents { fp32_contents: [1.5, -0.0] } }",
    "inputs { name: 'x' datatype: 'FP64' shape: [1, 2] contents { fp64_contents: [1e300, nan] } } id: '7'",
    "inputs { name: 'x' datatype: 'INT8' shape: [2] contents { int_contents: [-128, 127] } }",
    "inputs { name: 'x' datatype: 'INT8' shape: [1] contents { int_contents: [128] } }",
    "inputs { name: 'x' datatype: 'INT16' shape: [1] contents { int_contents: [-32768] } }",
    "inputs { name: 'x' datatype: 'INT32' shape: [3] contents { int_contents: [-1, 0, 2147483647] } }",
    "inputs { name: 'x' datatype: 'INT64' shape: [2] contents { int64_contents: [-9223372036854775808, 300] } }",
    "inputs { name: 'x' datatype: 'UINT8' shape: [2] contents { uint_contents: [255, 0] } }",
    "inputs { name: 'x' datatype: 'UINT16' shape: [1] contents { uint_contents: [65536] } }",
    "inputs { name: 'x' datatype: 'UINT32' shape: [1] contents { uint_contents: [4294967295] } }",
    "inputs { name: 'x' datatype: 'UINT64' shape: [1] contents { uint64_contents: [18446744073709551615] } }",
    "inputs { name: 'x' datatype: 'BOOL' shape: [2] contents { bool_contents: [true, false] } }",
    "inputs { name: 'x' datatype: 'BYTES' shape: [3] contents { bytes_contents: ['', 'a', '\\377'] } }",
    "inputs { name: 'x' datatype: 'BYTES' shape: [] contents { bytes_contents: ['a', 'b'] } }",
    "inputs { name: 'x' datatype: 'FP32' shape: [0] contents { bool_contents: true } }",
    "inputs { name: 'x' datatype: 'FP32' shape: [0] contents {} } inputs { name: 'y' datatype: 'BOOL' shape: [0] }",
    "inputs { name: 'x' datatype: 'FP32' shape: [1001] contents { fp32_contents: 1 } }",
    "inputs { name: 'x' datatype: 'FP16' shape: [1] } raw_input_contents: 'ab' outputs { name: 'y' }",
    "inputs { name: 'x' datatype: 'BYTES' shape: [1] } raw_input_contents: '\\003\\000\\000\\000abc'",
    "inputs { name: 'x' datatype: 'BOOL' shape: [2] } raw_input_contents: '\\001\\002'",
    "inputs { name: 'x' datatype: 'BOOL' shape: [1] } inputs { name: 'y' datatype: 'INT8' shape: [2] } "
    "raw_input_contents: '\\001' raw_input_contents: 'ab' parameters { key: 'timeout' value { int64_param: 7 } }",
    "inputs { name: 'x' datatype: 'BOOL' shape: [1] contents { bool_contents: true } } raw_input_contents: '\\001'",
    "outputs { name: 'y' parameters { key: 'classification' value { int64_param: 3 } } } "
    "parameters { key: 'signature_name' value { string_param: 's' } } model_version: '3'",
};

TEST(Open, ReadsARequestAsGeneratedCodeDoesHoweverTheBytesAreSplit) {
  for (const std::string& text : kMessages) {
    for (const size_t size : {size_t{1}, size_t{3}, size_t{1000}}) ExpectAgree(Message(text).SerializeAsString(), size);
  }
}

TEST(Open, AcceptsWhatNoSerializerWrites) {
  const std::string x = Message("inputs { name: 'x' datatype: 'INT8' shape: [3] }").SerializeAsString().substr(2);
  const std::string one = "\x2a\x03\x12\x01\x07";      // Contents: int_contents, packed, [7].
  const std::string two = "\x2a\x04\x10\x08\x10\x09";  // Contents: int_contents, each alone, [8, 9].
  const std::string both = "\x2a\x05\x12\x01\x07\x10\x08";
  const std::string unknown = "\xa2\x06\x01z";  // Field 100.
  const std::string fixed =
      "\xa5\x06"
      "abcd";                                            // Field 100 as a number of four bytes.
  const std::string group = "\xa3\x06\x08\x01\xa4\x06";  // Field 100 as a group.
  for (const std::string& contents :
       {one + two, two + one, both, one + unknown + two, unknown + one + group + fixed + two}) {
    const std::string input = x + contents;
    const std::string bytes = "\x2a" + std::string(1, static_cast<char>(input.size())) + input;
    ExpectAgree(bytes, 2);
    ExpectAgree(group + bytes + unknown + fixed, 2);
    ExpectAgree("\xaa\x80\x00" + bytes.substr(1), 2);  // The tag with a needless byte.
  }
  EXPECT_THAT(ReadDirectly(Pieces("\x2a" + std::string(1, static_cast<char>(x.size() + 11)) + x + one + two)),
              HasSubstr("|x INT8 [3] \x07\x08\x09"));
}

TEST(Open, AgreesWithGeneratedCodeOnDamagedBytes) {
  const google::protobuf::LogSilencer silencer;
  Damage damage;
  for (int i = 0; i < 50000; ++i) {
    const std::string bytes = damage.Change(Message(kMessages[damage.Below(kMessages.size())]).SerializeAsString());
    ExpectAgree(bytes, 1 + damage.Below(8));
  }
}

TEST(Open, KeepsWhatItReadBeforeAnError) {
  OpenedRequest opened;
  EXPECT_FALSE(Open(Pieces(Message("model_name: 'm' id: '7'").SerializeAsString() + "\x2a\x7f"), &opened));
  EXPECT_EQ(opened.head.model_name() + opened.head.id(), "m7");
}

// Returns a message of `count` times the bytes.
std::string Repeated(const std::string& bytes, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += bytes;
  return all;
}

TEST(Open, LimitsAllThatIsNotAnElement) {
  constexpr size_t kMany = size_t{3} << 20;
  const auto error = [](const std::string& bytes) { return ReadDirectly(Pieces(bytes)); };
  const std::string long_input = Repeated(std::string("\x18\x00", 2), kMany);  // An input with this shape.
  std::string size;
  for (size_t left = long_input.size(); left > 0; left >>= 7)
    size.push_back(static_cast<char>((left & 0x7f) | (left >> 7 > 0 ? 0x80 : 0)));
  EXPECT_EQ(error(Repeated(std::string("\x2a\0", 2), kMany)),
            "INVALID_ARGUMENT: the request has more than 10000 inputs");
  EXPECT_EQ(error(Repeated(std::string("\x32\0", 2), kMany)),
            "INVALID_ARGUMENT: the request has more than 10000 outputs");
  EXPECT_EQ(error(Repeated(std::string("\x3a\0", 2), kMany)),
            "INVALID_ARGUMENT: the request has more than 10000 raw_input_contents");
  for (const std::string& bytes : {Repeated(std::string("\x22\0", 2), kMany), "\x2a" + size + long_input}) {
    EXPECT_EQ(error(bytes), "RESOURCE_EXHAUSTED: the request has more than 4194304 bytes besides its elements");
  }
}

TEST(Open, TakesNoMemoryForElementsThatTheShapeDoesNotHave) {
  ModelInferRequest message = Message("inputs { name: 'x' datatype: 'BYTES' shape: [1] contents {} }");
  for (int i = 0; i < 1000000; ++i) message.mutable_inputs(0)->mutable_contents()->add_bytes_contents();
  OpenedRequest opened;
  ASSERT_TRUE(Open(Pieces(message.SerializeAsString()), &opened));
  EXPECT_LT(opened.head.SpaceUsedLong(), 1000U);
  EXPECT_THAT(FromProto(std::move(opened), kElementsMax).error().message,
              HasSubstr("bytes_contents has 1000000 elements, but the shape [1] has 1"));
}

}  // namespace
}  // namespace longshore::frontend::oip::codec
