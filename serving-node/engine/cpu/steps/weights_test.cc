#include "serving-node/engine/cpu/steps/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace longshore::engine::cpu {
namespace {

using dnnl::memory;
using kernels::CountedBuffers;
using tensor::DType;
using tensor::Tensor;

// A 40 x 24 matrix; `held` expires when the last reference to it is gone.
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

TEST(Weights, HoldsAStoredConstantOnceInTheRequestedLayout) {
  Weights weights;
  Watched matrix;
  const Tensor placeholder = weights.Store(matrix.constant);
  EXPECT_EQ(weights.Store(matrix.constant).data(), placeholder.data());
  EXPECT_EQ(placeholder.shape(), matrix.constant.shape());
  matrix.constant = Tensor();
  EXPECT_FALSE(matrix.held.expired());
  weights.In(placeholder, kPlain, kBlocked);
  EXPECT_TRUE(matrix.held.expired());
  EXPECT_EQ(BytesOf(weights), static_cast<int64_t>(kBlocked.get_size()));
  weights.In(placeholder, kPlain, kTurned);
  EXPECT_EQ(BytesOf(weights), 40 * 24 * 4);
  EXPECT_TRUE(CountsUp(weights.Plain(placeholder)));
}

TEST(Weights, SharesFormsAndConvertsThemIntoEachOther) {
  Weights weights;
  Watched matrix;
  const Tensor placeholder = weights.Store(matrix.constant);
  const auto blocked = weights.In(placeholder, kPlain, kBlocked);
  EXPECT_EQ(weights.In(placeholder, kPlain, kBlocked), blocked);
  const Tensor plain = weights.Plain(placeholder);
  EXPECT_EQ(plain.data(), weights.Plain(placeholder).data());
  EXPECT_TRUE(CountsUp(plain));
  EXPECT_EQ(weights.In(placeholder, kPlain, kBlocked), blocked);
  const auto again = weights.In(placeholder, kPlain, kTurned);
  EXPECT_EQ(static_cast<const float*>(again->get_data_handle())[1], 25.0F);  // The second number of the first column.
}

TEST(Weights, ForgetsAConstantThatIsNotStoredAfterItsLastForm) {
  Weights weights;
  Watched matrix, other;
  auto form = weights.In(matrix.constant, kPlain, kBlocked);
  EXPECT_EQ(weights.Plain(matrix.constant).data(), matrix.constant.data());
  matrix.constant = Tensor();
  EXPECT_FALSE(matrix.held.expired());  // `form` keeps the constant, whose address is its key.
  form.reset();
  weights.In(other.constant, kPlain, kBlocked);
  EXPECT_TRUE(matrix.held.expired());
}

}  // namespace
}  // namespace longshore::engine::cpu
