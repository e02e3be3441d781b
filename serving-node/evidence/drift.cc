#include "serving-node/evidence/drift.h"

#include <algorithm>
#include <utility>

#include "serving-node/evidence/distances.h"
#include "serving-node/tensor/finite.h"

namespace longshore::evidence {
namespace {

using tensor::DType;
using tensor::Tensor;

// The largest difference. It also stands for outputs that cannot be compared. It is finite so that sums of differences
// can be subtracted.
constexpr double kIncomparable = 1e6;

double DriftOf(const Distances& distances) {
  if (distances.only_one_is_such) return kIncomparable;
  return std::min(distances.difference_max / std::max(1.0, distances.magnitude_b), kIncomparable);
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

// Requires: equal types and shapes.
void AddDrift(const Tensor& a, const Tensor& b, const Distances& distances, PairDifference* difference) {
  if (a.type() != DType::kFloat && a.type() != DType::kDouble) return;
  difference->is_measured = true;
  difference->relative = std::max(difference->relative, DriftOf(distances));
  if (a.type() != DType::kFloat || a.rank() == 0 || a.dim(a.rank() - 1) <= 1 || distances.are_equal()) return;
  difference->top1_changed = difference->top1_changed || Top1Changed(a, b);
}

// An output of the candidate and of stable; null if the answer has none with this name.
struct Both {
  const std::string& name;
  const Tensor* candidate;
  const Tensor* stable;

  bool are_comparable() const {
    return candidate != nullptr && stable != nullptr && candidate->type() == stable->type() &&
           candidate->shape() == stable->shape();
  }
};

// If two outputs have the same difference, the first one in alphabetical order counts as larger.
bool IsLarger(const Both& both, double relative, const std::optional<OutputDifference>& largest) {
  if (!largest || relative != largest->relative) return relative > (largest ? largest->relative : 0);
  return both.name < largest->output;
}

void CompareOne(const Both& both, PairDifference* difference) {
  double relative = 1;
  std::optional<double> absolute;
  if (both.are_comparable()) {
    const Distances distances = DistancesOf(*both.candidate, *both.stable);
    AddDrift(*both.candidate, *both.stable, distances, difference);
    relative = distances.relative();
    absolute = distances.absolute();
  } else {
    difference->is_measured = true;
    difference->relative = kIncomparable;
  }
  if (!IsLarger(both, relative, difference->largest)) return;
  const auto text = [](const Tensor* output) { return output == nullptr ? "" : engine::TypeText(*output); };
  difference->largest = {.output = both.name,
                         .candidate_type = text(both.candidate),
                         .stable_type = text(both.stable),
                         .relative = relative,
                         .absolute = absolute};
}

}  // namespace

bool HasNonFinite(const engine::TensorMap& outputs) {
  return std::any_of(outputs.begin(), outputs.end(),
                     [](const auto& entry) { return tensor::HasNonFinite(entry.second); });
}

PairDifference Compare(const engine::TensorMap& candidate, const engine::TensorMap& stable) {
  PairDifference difference;
  for (const auto& [name, values] : candidate) {
    const auto other = stable.find(name);
    CompareOne({name, &values, other == stable.end() ? nullptr : &other->second}, &difference);
  }
  for (const auto& [name, values] : stable) {
    if (!candidate.contains(name)) CompareOne({name, nullptr, &values}, &difference);
  }
  return difference;
}

}  // namespace longshore::evidence
