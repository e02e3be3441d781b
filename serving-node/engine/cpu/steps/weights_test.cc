#include "serving-node/engine/cpu/steps/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace longshore::engine::cpu {
namespace {

using dnnl::memory;
using reference::kernels::CountedBuffers;
using tensor::DType;
using tensor::Tensor;

// A matrix of 40 x 24 that says when nobody holds it any more.
struct Watched {
  std::shared_ptr<std::vector<float>> numbers = std::make_shared<std::vector<float>>(40 * 24);
  std::weak_ptr<std::vector<float>> held = numbers;
  Tensor constant;

  Watched() {
    std::iota(numbers->begin(), numbers->end(), 1.0F);
    constant = Tensor::Wrap(DType::kFloat, {40, 24}, reinterpret_cast<std::byte*>(numbers->data()), numbers);
    numbers.reset();
  }
};

const memory::desc kPlain({40, 24}, memory::data_type::f32, memory::format_tag::ab);
const memory::desc kTurned({40, 24}, memory::data_type::f32, memory::format_tag::ba);
const memory::desc kBlocked({40, 24}, memory::data_type::f32, memory::format_tag::BA16a16b);

bool CountsUp(const Tensor& tensor) {
  float next = 1;
  return std::ranges::all_of(tensor.values<float>(), [&](float number) { return number == next++; });
}

int64_t BytesOf(const Weights& weights) {
  CountedBuffers counted;
  return weights.memory_bytes(&counted);
}

TEST(Weights, WhatIsTakenOverIsHeldOnceInTheLayoutThatWasAskedFor) {
  Weights weights;
  Watched matrix;
  const Tensor taken = weights.TakeOver(matrix.constant);
  EXPECT_EQ(weights.TakeOver(matrix.constant).data(), taken.data());
  EXPECT_EQ(taken.shape(), matrix.constant.shape());
  matrix.constant = Tensor();
  EXPECT_FALSE(matrix.held.expired());
  weights.In(taken, kPlain, kBlocked);
  EXPECT_TRUE(matrix.held.expired());
  EXPECT_EQ(BytesOf(weights), static_cast<int64_t>(kBlocked.get_size()));
  weights.In(taken, kPlain, kTurned);
  EXPECT_EQ(BytesOf(weights), 40 * 24 * 4);
  EXPECT_TRUE(CountsUp(weights.Plain(taken)));
}

TEST(Weights, FormsAreSharedAndComeBackFromEachOther) {
  Weights weights;
  Watched matrix;
  const Tensor taken = weights.TakeOver(matrix.constant);
  const auto blocked = weights.In(taken, kPlain, kBlocked);
  EXPECT_EQ(weights.In(taken, kPlain, kBlocked), blocked);
  const Tensor plain = weights.Plain(taken);
  EXPECT_EQ(plain.data(), weights.Plain(taken).data());
  EXPECT_TRUE(CountsUp(plain));
  EXPECT_EQ(weights.In(taken, kPlain, kBlocked), blocked);
  const auto again = weights.In(taken, kPlain, kTurned);
  EXPECT_EQ(static_cast<const float*>(again->get_data_handle())[1], 25.0F);  // Below the first.
}

TEST(Weights, WhatWasNotTakenOverIsForgottenWithItsLastForm) {
  Weights weights;
  Watched matrix, other;
  auto form = weights.In(matrix.constant, kPlain, kBlocked);
  EXPECT_EQ(weights.Plain(matrix.constant).data(), matrix.constant.data());
  matrix.constant = Tensor();
  EXPECT_FALSE(matrix.held.expired());  // Its address says what the form is of.
  form.reset();
  weights.In(other.constant, kPlain, kBlocked);
  EXPECT_TRUE(matrix.held.expired());
}

}  // namespace
}  // namespace longshore::engine::cpu
