// Runs every op with random invalid inputs: the result is an answer or an error, never a crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "common/heap_testing/heap.h"
#include "serving-node/engine/interpreter/empty_shapes.h"
#include "serving-node/engine/interpreter/one_op.h"
#include "serving-node/engine/kernels/base/types.h"
#include "tests/seeds/seeds.h"

namespace longshore::engine::interpreter {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

constexpr int kTriesPerCase = 40;
// A random input may ask for an output of a huge size. The op must then fail before it allocates the output.
constexpr size_t kRunBytesMax = 64 << 10;

// All element types that tensors support.
std::vector<DType> AllTypes() {
  std::vector<DType> types;
  for (int i = 0; i < std::numeric_limits<kernels::TypeSet>::digits; ++i) {
    if (Tensor::Make(DType{i}, {})) types.push_back(DType{i});
  }
  return types;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // Returns a tensor with another shape or type, or with other values; sometimes the given one.
  Tensor Mutate(const Tensor& tensor) {
    switch (Below(5)) {
      case 0: return WithShape(tensor.type(), AnyShape());
      case 1: return WithShape(tensor.type(), OtherSize(tensor.shape()));
      case 2: return WithShape(types_[Below(types_.size())], tensor.shape());
      case 3: return WithShape(tensor.type(), tensor.shape());
      default: return tensor;
    }
  }
  size_t Below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }

 private:
  static constexpr int64_t kNumbers[] = {0, 1, -1, 2, 3, -2, -3, 4, -7, 5, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  static constexpr double kFloats[] = {NAN, INFINITY, -INFINITY, 0.5, -0.3, 1e-40, 1e30};

  Shape AnyShape() {
    Shape shape(Below(6));
    for (auto& size : shape) size = static_cast<int64_t>(Below(4));
    return shape;
  }
  Shape OtherSize(Shape shape) {
    if (shape.empty()) return {0};
    shape[Below(shape.size())] = static_cast<int64_t>(Below(5));
    return shape;
  }

  template <typename T>
  T Any() {
    if (std::is_floating_point_v<T> && Below(4) == 0) return static_cast<T>(kFloats[Below(std::size(kFloats))]);
    return static_cast<T>(kNumbers[Below(std::size(kNumbers))]);
  }
  template <typename T>
  void Fill(Tensor* tensor) {
    std::generate_n(kernels::Raw<T>(*tensor), tensor->elements(), [this] { return Any<T>(); });
  }
  void FillShort(Tensor* tensor, uint16_t (*round)(float)) {
    std::generate_n(kernels::Raw<uint16_t>(*tensor), tensor->elements(), [&] { return round(Any<float>()); });
  }
  Tensor WithShape(DType type, const Shape& shape) {
    Tensor made = *Tensor::Make(type, shape);
    switch (type) {
      case DType::kFloat: Fill<float>(&made); break;
      case DType::kDouble: Fill<double>(&made); break;
      case DType::kHalf: FillShort(&made, tensor::FloatToHalf); break;
      case DType::kBfloat16: FillShort(&made, tensor::FloatToBfloat16); break;
      case DType::kInt32:
      case DType::kQint32: Fill<int32_t>(&made); break;
      case DType::kInt64: Fill<int64_t>(&made); break;
      case DType::kUint64: Fill<uint64_t>(&made); break;
      case DType::kBool: Fill<bool>(&made); break;
      case DType::kString: break;
      default: std::fill_n(made.mutable_data(), made.bytes(), std::byte{static_cast<unsigned char>(Below(256))});
    }
    return made;
  }

  std::mt19937 random_;
  const std::vector<DType> types_ = AllTypes();
};

std::string ShapesOf(const std::map<std::string, Tensor>& fed) {
  std::string text;
  for (const auto& [name, value] : fed) text += name + tensor::ToString(value.shape()) + " ";
  return text;
}

TEST(Fuzz, InvalidInputsCrashNoOp) {
  Mutator mutator(seeds::First());
  size_t refused = 0, answered = 0;
  for (const auto& json : OpCases()) {
    const OneOp one(json);
    const auto plan = one.MakePlan();
    if (!plan) continue;
    for (int i = 0; i < kTriesPerCase; ++i) {
      auto fed = one.fed;
      for (auto& [name, tensor] : fed) tensor = mutator.Mutate(tensor);
      SCOPED_TRACE(json.at("op").get<std::string>());
      kernels::Resources resources;
      const auto result = plan->Run(fed, {}, resources, kRunBytesMax);
      ++(result ? answered : refused);
      if (result) continue;
      EXPECT_NE(result.error().message.find("(node \""), std::string::npos) << result.error().message;
    }
  }
  EXPECT_GT(refused, 1000U);
  EXPECT_GT(answered, 1000U);
}

// The memory that a kernel may use for inputs without elements: enough for a table with a few machine words for each
// position along an axis of the largest such input that CheckEmptyInputs permits (for example, of shape [N, 0]). It
// does not depend on the memory limit of the run.
constexpr size_t kPeakBytesMax = size_t{16} << 20;
constexpr int kEmptyTriesPerCase = 8;

TEST(Fuzz, EmptyInputsOfAnySizesUseLittleMemory) {
  EmptyShapes shapes(seeds::First());
  size_t refused = 0, answered = 0;
  for (const auto& json : OpCases()) {
    const OneOp one(json);
    const auto plan = one.MakePlan();
    if (!plan) continue;
    for (int i = 0; i < kEmptyTriesPerCase; ++i) {
      const auto fed = shapes.Mutate(one.fed);
      kernels::Resources resources;
      const heap_testing::PeakBytes peak;
      ++(plan->Run(fed, {}, resources, kRunBytesMax) ? answered : refused);
      EXPECT_LT(peak.bytes(), kPeakBytesMax)
          << json.at("at") << ": " << json.at("op") << ", try " << i << ": " << ShapesOf(fed);
    }
  }
  EXPECT_GT(refused, 1000U);
  EXPECT_GT(answered, 1000U);
}

}  // namespace
}  // namespace longshore::engine::interpreter
