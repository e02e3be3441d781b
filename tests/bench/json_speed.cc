#include "tests/bench/json_speed.h"

#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "serving-node/frontend/json/numbers.h"
#include "serving-node/frontend/oip/codec/json_request.h"
#include "tests/bench/cpu_time.h"

namespace longshore::bench {
namespace {

constexpr int kSide = 224;
constexpr int kRounds = 30;

std::string Written(double number, int digits) {
  return digits == kPythons ? fmt::format("{}", number) : fmt::format("{:.{}f}", number, digits);
}

// Returns the list of the numbers between `head` and `tail`.
std::string ImageBody(std::string_view head, int digits, std::string_view tail) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> brightness(0, 1);
  std::string body;
  body.reserve(
      size_t{kSide} * kSide * 3 *
      static_cast<size_t>(
          digits == kPythons ? 26 : digits + 6));  // Reserved in advance, so that growth leaves no freed blocks behind.
  body = head;
  body += "[[";
  for (int row = 0; row < kSide; ++row) {
    body += row == 0 ? "[" : ", [";
    for (int column = 0; column < kSide; ++column) {
      body += column == 0 ? "[" : ", [";
      for (int channel = 0; channel < 3; ++channel) {
        body += (channel == 0 ? "" : ", ") + Written(brightness(random), digits);
      }
      body += "]";
    }
    body += "]";
  }
  body += "]]";
  body += tail;
  return body;
}

std::string PredictBody(int digits) { return ImageBody(R"({"instances": )", digits, "}"); }

engine::TensorMap ReadPredict(std::string_view body) {
  tensorflow::SignatureDef signature;
  (*signature.mutable_inputs())["x"].set_dtype(tensorflow::DT_FLOAT);
  auto read = frontend::json::NumbersFromJson(
      body, [&](const std::string&) -> Result<const tensorflow::SignatureDef*> { return &signature; });
  CHECK(read.has_value());
  return std::move(read->inputs);
}

constexpr std::string_view kInferHead =
    R"({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 224, 224, 3], "data": )";

engine::TensorMap ReadInfer(std::string_view body) {
  frontend::oip::codec::InferRequest request;
  CHECK(frontend::oip::codec::ReadBody(body, std::nullopt, Budget().elements_max, &request).has_value());
  return std::move(request.inputs);
}

// Returns the value of a line of /proc/self/status, converted from kB to bytes.
double StatusBytes(const std::string& line) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == line && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

// Resets the peak of the resident memory (VmHWM).
void ForgetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace

JsonSpeed MeasureJson(JsonApi api, int digits) {
  const bool is_predict = api == JsonApi::kPredict;
  const std::string body = is_predict ? PredictBody(digits) : ImageBody(kInferHead, digits, "}]}");
  std::vector<double> seconds;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = CpuSeconds();
    const engine::TensorMap inputs = is_predict ? ReadPredict(body) : ReadInfer(body);
    seconds.push_back(CpuSeconds() - begin);
    CHECK(inputs.at("x").elements() == int64_t{kSide} * kSide * 3);
  }
  std::ranges::nth_element(seconds, seconds.begin() + kRounds / 2);
  return {.millions_per_second = kSide * kSide * 3 / seconds[kRounds / 2] / 1e6, .body_bytes = body.size()};
}

double MeasureJsonPeak(int digits) {
  std::string body = PredictBody(digits);
  const auto body_bytes = static_cast<double>(body.size());
  const double before = StatusBytes("VmRSS:") - body_bytes;
  ForgetPeak();
  const engine::TensorMap inputs = ReadPredict(body);
  return (StatusBytes("VmHWM:") - before) / body_bytes;
}

}  // namespace longshore::bench
