#include "serving-node/golden_set/score.h"

#include <gmock/gmock.h>

#include <limits>

namespace longshore::golden_set {
namespace {

using tensor::Tensor;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// The message about one record with the output y.
std::string MessageFor(const std::vector<float>& got, const std::vector<float>& want) {
  control::Validation validation;
  validation.set_metric("tolerance");
  validation.set_minimum(1);
  validation.set_relative_tolerance(0.01);
  const auto tensor = [](const std::vector<float>& values) {
    return Tensor::Of<float>({static_cast<int64_t>(values.size())}, values);
  };
  Score score(validation);
  EXPECT_TRUE(score.Judge({.request = {}, .expected = {{"y", tensor(want)}}}, [&](auto) {
    return engine::TensorMap{{"y", tensor(got)}};
  }));
  return score.Finished().message();
}

TEST(Score, NamesTheElementWithTheLargestDifference) {
  EXPECT_THAT(MessageFor({1, 2, 9, 4}, {1, 3, 3, 4}), testing::HasSubstr("output \"y\" is 9 at index 2, not 3"));
}

TEST(Score, ANanOrAnInfinityOnOneSideIsTheLargestDifference) {
  EXPECT_THAT(MessageFor({1, kNan, 9, 4}, {1, 2, 3, 4}), testing::HasSubstr("output \"y\" is nan at index 1, not 2"));
  EXPECT_THAT(MessageFor({kInf, 5, -kInf}, {kInf, 5, 3}), testing::HasSubstr("output \"y\" is -inf at index 2, not 3"));
}

}  // namespace
}  // namespace longshore::golden_set
