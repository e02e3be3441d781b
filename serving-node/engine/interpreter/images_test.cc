// Decodes damaged image files: the result is pixels or an error, never a crash.
#include <gtest/gtest.h>

#include <random>

#include "serving-node/engine/interpreter/one_op.h"
#include "tests/seeds/seeds.h"

namespace longshore::engine::interpreter {
namespace {

constexpr int kTriesPerCase = 20;
constexpr size_t kRunBytesMax = 1 << 20;

// Changes some bytes, and sometimes cuts off the end.
std::string Damaged(std::string bytes, std::mt19937* random) {
  const auto below = [random](size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(*random); };
  for (size_t left = 1 + below(4); left > 0 && !bytes.empty(); --left)
    bytes[below(bytes.size())] = static_cast<char>(below(256));
  if (below(4) == 0 && !bytes.empty()) bytes.resize(below(bytes.size()));
  return bytes;
}

TEST(Images, DecodingDamagedFilesDoesNotCrash) {
  std::mt19937 random(seeds::First());
  size_t refused = 0, answered = 0;
  for (const auto& json : OpCases()) {
    const std::string op = json.at("op").get<std::string>();
    if (!op.starts_with("Decode") || op.ends_with("Raw") || op.ends_with("64")) continue;
    const OneOp one(json);
    const auto plan = one.MakePlan();
    if (!plan) continue;
    for (int i = 0; i < kTriesPerCase; ++i) {
      auto fed = one.fed;
      fed.at("in0") = TensorOf(json.at("inputs")[0]);  // A fresh tensor, because copies of a tensor share their bytes.
      for (auto& bytes : fed.at("in0").mutable_values<std::string>()) bytes = Damaged(bytes, &random);
      kernels::Resources resources;
      ++(plan->Run(fed, {}, resources, kRunBytesMax) ? answered : refused);
    }
  }
  EXPECT_GT(refused, 1000U);
  EXPECT_GT(answered, 1000U);
}

}  // namespace
}  // namespace longshore::engine::interpreter
