#include "serving-node/frontend/oip/codec/json_request.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "serving-node/frontend/oip/codec/number_lists.h"
#include "serving-node/frontend/oip/codec/raw.h"

namespace longshore::frontend::oip::codec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kElementsMax = 100;

Result<InferRequest> Read(const std::string& body, std::optional<size_t> json_bytes = std::nullopt) {
  InferRequest request;
  request.model = "m";
  const Status read = ReadBody(body, json_bytes, kElementsMax, &request);
  if (!read) return tl::make_unexpected(read.error());
  return request;
}

// The body of a request with one input.
std::string WithInput(const std::string& members) { return R"({"inputs":[{"name":"x",)" + members + "}]}"; }

std::string ErrorOf(const std::string& body, std::optional<size_t> json_bytes = std::nullopt) {
  const auto read = Read(body, json_bytes);
  return read ? "" : read.error().message;
}

TEST(JsonRequest, ReadsAnInferenceRequest) {
  const auto request = Read(
      R"({"id":"7","parameters":{"timeout":5,"binary_data_output":true,"p":"q"},)"
      R"("inputs":[{"data":[[1,2],[3.5,-4e0]],"shape":[2,2],"datatype":"FP32","name":"x"}],)"
      R"("outputs":[{"name":"y","parameters":{"classification":2}},{"parameters":{"binary_data":false},"name":"z"}]})");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->id, "7");
  EXPECT_TRUE(request->binary_data_output);
  EXPECT_EQ(request->timeout, std::chrono::microseconds(5));
  EXPECT_EQ(request->inputs.at("x").shape(), (tensor::Shape{2, 2}));
  EXPECT_THAT(request->inputs.at("x").values<float>(), ElementsAre(1.0f, 2.0f, 3.5f, -4.0f));
  EXPECT_EQ(request->outputs.at(0).classes, 2);
  EXPECT_EQ(request->outputs.at(1).name, "z");
  EXPECT_EQ(request->outputs.at(1).binary_data, false);
}

TEST(JsonRequest, ReadsIntegersExactly) {
  const auto request =
      Read(WithInput(R"("shape":[2],"datatype":"INT64","data":[9223372036854775807,-9223372036854775808])"));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_THAT(request->inputs.at("x").values<int64_t>(), ElementsAre(INT64_MAX, INT64_MIN));
  const auto large = Read(WithInput(R"("shape":[1],"datatype":"UINT64","data":[18446744073709551615])"));
  EXPECT_THAT(large->inputs.at("x").values<uint64_t>(), ElementsAre(UINT64_MAX));
}

TEST(JsonRequest, ReadsAllFormsOfNumbers) {
  const auto request =
      Read(WithInput(R"("shape":[3,2],"datatype":"FP32","data":[ [-0.0,1e2], [ NaN , -Infinity],[16777217,1.5E-3]])"));
  ASSERT_TRUE(request) << request.error().message;
  const auto values = request->inputs.at("x").values<float>();
  EXPECT_TRUE(std::signbit(values[0]));
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_THAT(values.subspan(3), ElementsAre(-INFINITY, 16777216.0f, 0.0015f));
  const auto scalar = Read(WithInput(R"("shape":[],"datatype":"FP64","data":7)"));
  EXPECT_THAT(scalar->inputs.at("x").values<double>(), ElementsAre(7.0));
}

TEST(JsonRequest, RefusesNumbersThatDoNotFit) {
  const auto error = [](const std::string& datatype, const std::string& value) {
    return ErrorOf(WithInput(R"("shape":[1],"datatype":")" + datatype + R"(","data":[)" + value + "]"));
  };
  EXPECT_EQ(error("INT8", "128"), "Unable to parse 'data' of input 'x': 128 is not a valid INT8");
  EXPECT_NE(error("UINT32", "-1"), "");
  EXPECT_NE(error("INT32", "1.5"), "");
  EXPECT_NE(error("UINT64", "18446744073709551616"), "");
  EXPECT_NE(error("BOOL", "2"), "");
  EXPECT_NE(error("BYTES", "1"), "");
  EXPECT_NE(error("FP32", "\"1\""), "");
  EXPECT_EQ(error("BOOL", "true"), "");
  EXPECT_EQ(error("FP16", "1"),
            "sending FP16 data via JSON is not supported. Please use the binary data format for input 'x'");
}

TEST(JsonRequest, RefusesDataOfAnotherSizeThanTheShape) {
  for (const char* data : {"[1]", "[1,2,3]", "[]", "[[1],[2],[3]]"}) {
    const std::string error = ErrorOf(WithInput(R"("shape":[2],"datatype":"FP32","data":)" + std::string(data)));
    EXPECT_THAT(error, HasSubstr("Shape does not match true shape of 'data'")) << data;
  }
  // The shape alone must not take memory.
  EXPECT_THAT(ErrorOf(WithInput(R"("shape":[100],"datatype":"BYTES","data":["a"])")),
              HasSubstr("Shape does not match"));
  EXPECT_EQ(ErrorOf(WithInput(R"("shape":[101],"datatype":"FP32","data":[1])")),
            "the inputs have more than 100 elements");
}

TEST(JsonRequest, TakesBinaryInputsFromTheBytesAfterTheJson) {
  const std::string json =
      R"({"inputs":[{"name":"a","shape":[1],"datatype":"UINT8","parameters":{"binary_data_size":1}},)"
      R"({"name":"b","shape":[1],"datatype":"UINT8","data":[5]},)"
      R"({"name":"c","shape":[2],"datatype":"UINT8","parameters":{"binary_data_size":2}}]})";
  const auto request = Read(json + "\x01\x02\x03", json.size());
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_THAT(request->inputs.at("a").values<uint8_t>(), ElementsAre(1));
  EXPECT_THAT(request->inputs.at("b").values<uint8_t>(), ElementsAre(5));
  EXPECT_THAT(request->inputs.at("c").values<uint8_t>(), ElementsAre(2, 3));
  EXPECT_THAT(ErrorOf(json + "\x01\x02\x03\x04", json.size()), HasSubstr("unexpected additional input data"));
  EXPECT_THAT(ErrorOf(json + "\x01\x02", json.size()), HasSubstr("unexpected size 2 for input 'c'"));
  EXPECT_THAT(ErrorOf(json, json.size() + 1), HasSubstr("is not the size of a JSON header"));
  EXPECT_THAT(ErrorOf(json, 0), HasSubstr("is not the size of a JSON header"));
}

TEST(JsonRequest, NamesWhatIsWrong) {
  EXPECT_THAT(ErrorOf("{"), HasSubstr("failed to parse the request JSON buffer"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("'inputs'"));
  EXPECT_EQ(ErrorOf(R"({"inputs":{}})"), "'inputs' is not a JSON array");
  EXPECT_EQ(ErrorOf(R"({"inputs":[1]})"), "'inputs' is not a JSON object");
  EXPECT_EQ(ErrorOf(R"({"id":1,"inputs":[]})"), "'id' is not a JSON string");
  EXPECT_THAT(ErrorOf(R"({"inputs":[{}]})"), HasSubstr("has no 'name'"));
  EXPECT_EQ(ErrorOf(WithInput(R"("shape":[1],"data":[1])")), "Unable to parse 'datatype' of input 'x'");
  EXPECT_EQ(ErrorOf(WithInput(R"("datatype":"FP32","data":[1])")), "Unable to parse 'shape' of input 'x'");
  EXPECT_THAT(ErrorOf(WithInput(R"("datatype":"FP32","shape":["1"])")), HasSubstr("'shape' of input 'x'"));
  EXPECT_THAT(ErrorOf(WithInput(R"("datatype":"FP32","shape":[1])")), HasSubstr("neither is set for input 'x'"));
  EXPECT_THAT(ErrorOf(WithInput(R"("datatype":"FP32","shape":[1],"data":[1],"parameters":{"binary_data_size":4})")),
              HasSubstr("both is set"));
  EXPECT_THAT(ErrorOf(WithInput(R"("parameters":{"shared_memory_region":"r"})")), HasSubstr("shared memory"));
  EXPECT_THAT(ErrorOf(R"({"parameters":{"p":[]},"inputs":[]})"), HasSubstr("parameter 'p' has invalid type"));
}

TEST(JsonRequest, TreatsNullAsAbsent) {
  EXPECT_EQ(ErrorOf(R"({"id":null,"parameters":null,"outputs":null,"inputs":[]})"), "");
}

// Leaves out where an error is.
std::string Show(const Result<InferRequest>& read) {
  if (!read) return read.error().message.substr(0, read.error().message.find(" at offset: "));
  std::string text = read->id;
  for (const auto& [name, values] : read->inputs) text += name + tensor::ToString(values.shape()) + ToRaw(values);
  return text;
}

// Reads the members of a body as a text that is mostly lists of numbers, and as one that is not, which is read by a
// JsonReader.
void ExpectSameWithoutSplit(const std::string& members) {
  const std::string padding(members.size() + 100, 'x');
  EXPECT_EQ(Show(Read("{" + members)), Show(Read("{\"" + padding + "\":{}," + members))) << members;
}

TEST(JsonRequest, ReadsListsOfNumbersAsAJsonReaderDoes) {
  std::minstd_rand random(1);
  const auto below = [&](size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random); };
  const std::string characters = "[]{},:.0123456789eE+-\" \n\"abNtf\\";
  const std::string one = R"("inputs":[{"name":"x","shape":[2,3],"datatype":")";
  const std::string data = R"(","data":[ [1,-0,300], [-4,5.50,12345678901234567890] ] ,"parameters":{}}],"id":"7"})";
  const std::string two = R"("inputs":[{"data":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25],)"
                          R"("name":"y","shape":[25],"datatype":"INT8"},{"data":[-0.0,-0,1e-7,3.25e5,7,8,9,0.1,1e2],)"
                          R"("name":"z","shape":[9],"datatype":"FP64"}]})";
  for (const char* type : {"FP32", "FP64", "INT8", "INT64", "UINT8", "UINT64", "BOOL", "BYTES", "FP16"}) {
    ExpectSameWithoutSplit(one + type + data);
    for (int i = 0; i < 2000; ++i) {
      std::string members = i % 2 == 0 ? one + type + data : two;
      for (size_t changes = below(3) + 1; changes > 0; --changes) {
        const size_t at = 12 + below(members.size() - 12);
        if (below(3) == 0) {
          members.erase(at, 1);
        } else {
          members.replace(at, below(2), 1, characters[below(characters.size())]);
        }
      }
      ExpectSameWithoutSplit(members);
    }
  }
}

TEST(JsonRequest, SplitsListsOfNumbersFromTheRest) {
  const std::string list = "[[1,2],[3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]]";
  const std::string json = WithInput(R"("data" : )" + list + R"(,"shape":[20])");
  const auto split = SplitNumberLists(json);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->rest, WithInput(R"("data" : [],"shape":[20])"));
  EXPECT_THAT(split->lists, ElementsAre(testing::Pair(split->rest.find("[],"), list)));
  EXPECT_FALSE(SplitNumberLists(WithInput(R"("data":["a","b"],"shape":[2],"datatype":"BYTES")")));
  std::string many;
  for (size_t i = 0; i <= kTensorsMax; ++i) many += R"("data":[1,2,3,4,5],)";
  EXPECT_FALSE(SplitNumberLists(many));
}

TEST(JsonRequest, RefusesAListOfNumbersThatIsNotValidAndThatNoInputTakes) {
  const std::string numbers = "[1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30]";
  EXPECT_THAT(ErrorOf(R"({"more":{"data":)" + numbers + R"(},"inputs":[]})"), HasSubstr("failed to parse"));
  const std::string x = R"("name":"x","shape":[1],"datatype":"INT8")";
  EXPECT_THAT(ErrorOf(R"({"inputs":[{)" + x + R"(,"data":)" + numbers + R"(,"data":[1]}]})"),
              HasSubstr("failed to parse"));
}

}  // namespace
}  // namespace longshore::frontend::oip::codec
