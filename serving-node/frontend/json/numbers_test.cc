#include "serving-node/frontend/json/numbers.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <random>

#include "serving-node/tensor/proto.h"
#include "tests/seeds/seeds.h"

namespace longshore::frontend::json {
namespace {

FindSignature Signatures(const tensorflow::SignatureDef& signature) {
  return [&signature](const std::string& name) -> Result<const tensorflow::SignatureDef*> {
    if (name == "serving_default" || name == "other") return &signature;
    return InvalidArgument("no signature {}", name);
  };
}

tensorflow::SignatureDef OneInput(tensorflow::DataType type) {
  tensorflow::SignatureDef signature;
  (*signature.mutable_inputs())["x"].set_dtype(type);
  return signature;
}

std::optional<Prediction> Quick(const std::string& body, const tensorflow::SignatureDef& signature) {
  return NumbersFromJson(body, Signatures(signature));
}

std::string Show(const Prediction& prediction) {
  std::string text = fmt::format("{} {}", static_cast<int>(prediction.form), prediction.signature_name);
  for (const auto& [name, values] : prediction.inputs) {
    tensorflow::TensorProto proto;
    tensor::ToProto(values, &proto, tensor::Encoding::kContent);
    text += fmt::format(" {}: {}", name, proto.ShortDebugString());
  }
  return text;
}

// NumbersFromJson may return nullopt. If it does not, its result must equal that of PredictionFromJson.
void ExpectSame(const std::string& body, const tensorflow::SignatureDef& signature) {
  const auto quick = Quick(body, signature);
  if (!quick) return;
  const auto plain = PredictionFromJson(body, Signatures(signature));
  EXPECT_EQ(Show(*quick), plain ? Show(*plain) : ToString(plain.error())) << body;
}

const std::vector<std::string>& Bodies() {
  static const std::vector<std::string> kBodies = {
      R"({"instances": [1.0, 2.5, -3e2]})",
      R"({"instances": [[1, 2, 3], [4, 5, 6]]})",
      R"({"inputs": [[[0.1], [1e-40]], [[123456789.123], [1e39]]]})",
      R"({"signature_name": "other", "instances": [[127, -128], [300, -2147483648]]})",
      R"({"instances": [7], "signature_name": "serving_default"})",
      R"({"instances": [-0, -0.0, 0, -1e-400]})",
      R"( { "inputs" : [ 9223372036854775807 , -1 ] } )",
  };
  return kBodies;
}

TEST(JsonNumbers, ReadsRowsAndColumnsOfEveryTypeLikePredictionFromJson) {
  for (const auto type : {tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE, tensorflow::DT_INT32, tensorflow::DT_INT64,
                          tensorflow::DT_UINT8, tensorflow::DT_INT8}) {
    for (const std::string& body : Bodies()) ExpectSame(body, OneInput(type));
  }
  EXPECT_EQ(Quick(Bodies()[1], OneInput(tensorflow::DT_FLOAT))->form, JsonForm::kRow);
  EXPECT_EQ(Quick(Bodies()[1], OneInput(tensorflow::DT_INT8))->form, JsonForm::kRow);
  EXPECT_EQ(Quick(Bodies()[2], OneInput(tensorflow::DT_DOUBLE))->form, JsonForm::kColumnar);
}

TEST(JsonNumbers, LeavesOtherBodiesToPredictionFromJson) {
  const auto floats = OneInput(tensorflow::DT_FLOAT);
  for (const char* body : {"",
                           "x",
                           "[1]",
                           "{}",
                           R"({"instances": []})",
                           R"({"instances": [[]]})",
                           R"({"instances": [[1], [1, 2]]})",
                           R"({"instances": [1, [2]]})",
                           R"({"instances": [[1], 2]})",
                           R"({"instances": ["a"]})",
                           R"({"inputs": 1})",
                           R"({"instances": [NaN]})",
                           R"({"instances": [1], "inputs": [1]})",
                           R"({"instances": [1], "more": tru})",
                           R"({"instances": [1], "instances": [2]})",
                           R"({"instances": [1], "signature_name": 3})",
                           R"({"instances": [1], "signature_name": "unknown"})",
                           R"({"instances": [{"x": 1}]})",
                           R"({"instances": [1)",
                           R"({"instances": [01]})",
                           R"({"instances": [1,]})"}) {
    EXPECT_FALSE(Quick(body, floats)) << body;
  }
  EXPECT_FALSE(Quick(R"({"instances": [1.5]})", OneInput(tensorflow::DT_INT32)));
  EXPECT_FALSE(Quick(R"({"instances": [3000000000]})", OneInput(tensorflow::DT_INT32)));
  auto two = floats;
  (*two.mutable_inputs())["y"].set_dtype(tensorflow::DT_FLOAT);
  EXPECT_FALSE(Quick(R"({"instances": [1]})", two));
}

TEST(JsonNumbers, NeverDiffersFromPredictionFromJsonOnDamagedBodies) {
  std::mt19937 random(seeds::First());
  const std::string characters = "[]{},:.0123456789eE+-\" \n\"abNtf\\";
  const auto any = [&](size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(random); };
  for (int round = 0; round < 20'000; ++round) {
    std::string body = Bodies()[any(Bodies().size())];
    for (size_t changes = 1 + any(3); changes > 0 && !body.empty(); --changes) {
      const size_t at = any(body.size());
      const char character = characters[any(characters.size())];
      switch (any(3)) {
        case 0: body[at] = character; break;
        case 1: body.insert(at, 1, character); break;
        default: body.erase(at, 1); break;
      }
    }
    ExpectSame(body, OneInput(any(2) == 0 ? tensorflow::DT_FLOAT : tensorflow::DT_INT64));
    if (testing::Test::HasFailure()) return;
  }
}

// A random number as clients may write it: short ones, ones with 16 or 17 digits as from Python's json, integers up to
// and beyond 64 bits, powers of ten outside the range of a double, and numbers near the midpoint between two floats.
std::string AnyNumber(std::mt19937_64& random) {
  const auto any = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  const std::string sign = any(3) == 0 ? "-" : "";
  const double plain = std::uniform_real_distribution<double>(0, 1)(random);
  switch (any(9)) {
    case 8: {  // The midpoint between two floats, or a few ULPs away from it.
      const auto bits = std::bit_cast<uint64_t>(static_cast<double>(static_cast<float>(plain))) + (uint64_t{1} << 28);
      return sign +
             fmt::format("{:.{}f}", std::bit_cast<double>(bits + static_cast<uint64_t>(any(9)) - 4), 15 + any(8));
    }
    case 0: return sign + std::to_string(any(1000));
    case 1: return sign + std::to_string(random() >> any(64));
    case 2: return sign + fmt::format("{:.{}f}", plain * 1000, any(25));
    case 3: return sign + fmt::format("{}", static_cast<double>(static_cast<float>(plain)));
    case 4: return sign + fmt::format("{}", std::bit_cast<double>(random() & 0x7fe'ffff'ffff'ffff));
    case 5: return sign + fmt::format("{}{}{}{}", random(), any(2) == 0 ? "e" : "E", any(2) == 0 ? "-" : "+", any(60));
    case 6: return sign + fmt::format("{}.{}e{}", any(10), random(), any(700) - 350);
    default:  // Near the midpoint between two doubles.
      return sign +
             fmt::format("{}.{}", (uint64_t{1} << 53) + static_cast<uint64_t>(any(1 << 20)), any(2) == 0 ? "5" : "0");
  }
}

std::string AnyList(std::mt19937_64& random, int levels) {
  std::string list = "[";
  const int size = levels == 1 ? 4 : 2;
  for (int i = 0; i < size; ++i) {
    if (i > 0) list += ", ";
    list += levels == 1 ? AnyNumber(random) : AnyList(random, levels - 1);
  }
  return list + "]";
}

TEST(JsonNumbers, NeverDiffersFromPredictionFromJsonOnRandomNumbers) {
  std::mt19937_64 random(seeds::First());
  int quick = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::string body = fmt::format(R"({{"{}": {}}})", random() % 2 == 0 ? "instances" : "inputs",
                                         AnyList(random, 1 + static_cast<int>(random() % 3)));
    for (const auto type : {tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE, tensorflow::DT_INT64}) {
      ExpectSame(body, OneInput(type));
      quick += Quick(body, OneInput(type)) ? 1 : 0;
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(quick, 20'000) << "most bodies must be read by NumbersFromJson";
}

TEST(JsonNumbers, ReadsEveryDoubleAsTheLibraryDoes) {
  std::mt19937_64 random(seeds::First());
  for (int round = 0; round < 200'000; ++round) {
    const std::string text = AnyNumber(random);
    const auto outcome = Quick(fmt::format(R"({{"inputs": [{}]}})", text), OneInput(tensorflow::DT_DOUBLE));
    if (!outcome) continue;
    ASSERT_EQ(outcome->inputs.at("x").elements(), 1);
    const double read = outcome->inputs.at("x").values<double>()[0];
    const double expected = text == "-0" ? 0 : std::strtod(text.c_str(), nullptr);  // An integer, which has no sign.
    ASSERT_EQ(std::bit_cast<uint64_t>(read), std::bit_cast<uint64_t>(expected)) << text;
  }
}

TEST(NumbersFromJson, LeavesTooManyElementsToPredictionFromJsonWhichRefusesThem) {
  const auto signature = OneInput(tensorflow::DT_FLOAT);
  const std::string body = R"({"signature_name": "other", "instances": [[1, 2], [3, 4]]})";
  EXPECT_TRUE(NumbersFromJson(body, Signatures(signature), 4));
  EXPECT_TRUE(PredictionFromJson(body, Signatures(signature), 4));
  EXPECT_FALSE(NumbersFromJson(body, Signatures(signature), 3));
  const auto refused = PredictionFromJson(R"({"instances": [[1, 2], [3, 4, 5]]})", Signatures(signature), 3);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{Code::kResourceExhausted, "the inputs have more than 3 elements"}));
}

}  // namespace
}  // namespace longshore::frontend::json
