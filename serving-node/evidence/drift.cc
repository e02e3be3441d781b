#include "serving-node/evidence/drift.h"

#include <algorithm>
#include <cmath>

#include "serving-node/tensor/finite.h"

namespace longshore::evidence {
namespace {

using tensor::DType;
using tensor::Tensor;

// The largest difference. It also stands for outputs that cannot be compared. It is finite so that sums of differences
// can be subtracted.
constexpr double kIncomparable = 1e6;

template <typename T>
double Relative(std::span<const T> a, std::span<const T> b) {
  double difference_max = 0;
  double scale = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!std::isfinite(difference)) return kIncomparable;
    difference_max = std::max(difference_max, difference);
    scale = std::max(scale, std::abs(static_cast<double>(b[i])));
  }
  return std::min(difference_max / scale, kIncomparable);
}

bool Top1Changed(const Tensor& a, const Tensor& b) {
  const auto columns = static_cast<size_t>(a.dim(a.rank() - 1));
  const auto x = a.values<float>();
  const auto y = b.values<float>();
  for (size_t row = 0; row + columns <= x.size(); row += columns) {
    const auto argmax = [&](std::span<const float> of) {
      return std::max_element(of.begin() + static_cast<std::ptrdiff_t>(row),
                              of.begin() + static_cast<std::ptrdiff_t>(row + columns)) -
             of.begin();
    };
    if (argmax(x) != argmax(y)) return true;
  }
  return false;
}

void CompareOne(const Tensor& a, const Tensor& b, PairDifference* difference) {
  if (a.type() != b.type() || a.shape() != b.shape()) {
    difference->relative = kIncomparable;
  } else if (a.type() == DType::kFloat) {
    difference->relative = std::max(difference->relative, Relative(a.values<float>(), b.values<float>()));
    if (a.rank() > 0 && a.dim(a.rank() - 1) > 1 && Top1Changed(a, b)) difference->top1_changed = true;
  } else if (a.type() == DType::kDouble) {
    difference->relative = std::max(difference->relative, Relative(a.values<double>(), b.values<double>()));
  }
}

}  // namespace

bool HasNonFinite(const engine::TensorMap& outputs) {
  return std::any_of(outputs.begin(), outputs.end(),
                     [](const auto& entry) { return tensor::HasNonFinite(entry.second); });
}

PairDifference Compare(const engine::TensorMap& candidate, const engine::TensorMap& stable) {
  PairDifference difference;
  if (candidate.size() != stable.size()) difference.relative = kIncomparable;
  for (const auto& [name, values] : candidate) {
    const auto other = stable.find(name);
    if (other == stable.end()) {
      difference.relative = kIncomparable;
    } else {
      CompareOne(values, other->second, &difference);
    }
  }
  return difference;
}

}  // namespace longshore::evidence
