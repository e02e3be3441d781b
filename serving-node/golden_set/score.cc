#include "serving-node/golden_set/score.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "serving-node/evidence/drift.h"

namespace longshore::golden_set {
namespace {

using engine::TensorMap;
using tensor::DType;
using tensor::Tensor;

// Returns the output whose argmax is compared: the first float output with more than one column. nullptr if there is
// none.
const Tensor* Scores(const TensorMap& outputs) {
  for (const auto& [name, values] : outputs) {
    if (values.type() == DType::kFloat && values.rank() > 0 && values.dim(values.rank() - 1) > 1) return &values;
  }
  return nullptr;
}

// The first row whose largest score is in another column: "the largest score of row 0 is in column 3, not 7". Requires:
// equal shapes of rank 1 or more.
std::string Top1Difference(const Tensor& got, const Tensor& want) {
  const auto columns = static_cast<size_t>(got.dim(got.rank() - 1));
  const auto largest = [&](const Tensor& scores, size_t row) {
    const auto values = scores.values<float>().subspan(row * columns, columns);
    return std::ranges::max_element(values) - values.begin();
  };
  const auto rows = static_cast<size_t>(got.elements()) / columns;
  for (size_t row = 0; row < rows; ++row) {
    const auto ours = largest(got, row), theirs = largest(want, row);
    if (ours == theirs) continue;
    return fmt::format("the largest score{} is in column {}, not {}", rows == 1 ? "" : fmt::format(" of row {}", row),
                       ours, theirs);
  }
  return "";
}

// Why the record fails the metric "top1"; "" if it does not.
std::string Top1Difference(const TensorMap& outputs, const TensorMap& expected) {
  const Tensor* ours = Scores(outputs);
  const Tensor* theirs = Scores(expected);
  if (theirs == nullptr) return "the known answer has no float output with more than one column, which top1 compares";
  if (ours == nullptr) return "the answer has no float output with more than one column, which top1 compares";
  if (ours->shape() != theirs->shape())
    return fmt::format("the scores have the shape {}, not {}", tensor::ToString(ours->shape()),
                       tensor::ToString(theirs->shape()));
  return Top1Difference(*ours, *theirs);
}

bool BitEqual(const TensorMap& a, const TensorMap& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    const Tensor& left = x.second;
    const Tensor& right = y.second;
    if (x.first != y.first || left.type() != right.type() || left.shape() != right.shape()) return false;
    if (left.type() == DType::kString)
      return std::ranges::equal(left.values<std::string>(), right.values<std::string>());
    return left.bytes() == 0 || std::memcmp(left.data(), right.data(), left.bytes()) == 0;
  });
}

// The element with the largest difference, for example: output "y" is 8 at index 3, not 7. The first NaN, or infinity
// that the other value is not, counts as the largest. Requires: equal shapes.
template <typename T>
std::string LargestDifference(const std::string& name, const Tensor& got, const Tensor& want) {
  const auto a = got.values<T>();
  const auto b = want.values<T>();
  size_t largest = 0;
  const auto difference = [&](size_t i) {
    const double got_value = a[i];
    const double wanted = b[i];
    if (got_value == wanted || (std::isnan(got_value) && std::isnan(wanted))) return 0.0;
    const double apart = std::abs(got_value - wanted);
    return std::isfinite(apart) ? apart : std::numeric_limits<double>::infinity();
  };
  for (size_t i = 0; i < a.size(); ++i) {
    if (difference(i) > difference(largest)) largest = i;
  }
  return fmt::format("output \"{}\" is {} at index {}, not {}", name, a[largest], largest, b[largest]);
}

// Why the output fails the metric "tolerance"; "" if it does not.
std::string DifferenceOf(const std::string& name, const TensorMap& outputs, const Tensor& want, double tolerance) {
  const auto found = outputs.find(name);
  if (found == outputs.end()) return fmt::format("output \"{}\" is missing", name);
  const Tensor& got = found->second;
  if (got.type() != want.type() || got.shape() != want.shape())
    return fmt::format("output \"{}\" has another type or shape", name);
  const bool is_float = want.type() == DType::kFloat;
  if (!is_float && want.type() != DType::kDouble)
    return BitEqual({{name, got}}, {{name, want}}) ? "" : fmt::format("output \"{}\" has other values", name);
  if (evidence::Compare({{name, got}}, {{name, want}}).relative <= tolerance) return "";
  return is_float ? LargestDifference<float>(name, got, want) : LargestDifference<double>(name, got, want);
}

// Why the record fails the metric "tolerance"; "" if it does not.
std::string ToleranceDifference(const TensorMap& outputs, const TensorMap& expected, double tolerance) {
  for (const auto& [name, want] : expected) {
    std::string difference = DifferenceOf(name, outputs, want, tolerance);
    if (!difference.empty()) return difference;
  }
  return outputs.size() == expected.size() ? "" : "the outputs have other names";
}

}  // namespace

Score::Score(const control::Validation& validation, Observer observe)
    : validation_(validation), observe_(std::move(observe)) {}

Status Score::Judge(const Record& record, const RunFunction& run) {
  ASSIGN_OR_RETURN(const TensorMap outputs, run(record.request));
  std::string refusal;
  if (validation_.deterministic()) {
    ASSIGN_OR_RETURN(const TensorMap repeated, run(record.request));
    if (!BitEqual(outputs, repeated))
      refusal = fmt::format("the input of golden record {} gave two different answers", result_.records());
  }
  if (refusal.empty() && validation_.non_finite_reject() && evidence::HasNonFinite(outputs))
    refusal = fmt::format("an output of golden record {} is NaN or Inf", result_.records());
  if (!refusal.empty()) Refuse(refusal);
  Add(record, outputs, refusal);
  return {};
}

void Score::Add(const Record& record, const TensorMap& outputs, const std::string& refusal) {
  const int64_t index = result_.records();
  const double relative = evidence::Compare(outputs, record.expected).relative;
  result_.set_worst_relative_difference(std::max(result_.worst_relative_difference(), relative));
  const std::string difference = validation_.metric() == "tolerance"
                                     ? ToleranceDifference(outputs, record.expected, validation_.relative_tolerance())
                                     : Top1Difference(outputs, record.expected);
  result_.set_records(index + 1);
  if (difference.empty()) result_.set_passed(result_.passed() + 1);
  if (!difference.empty() && first_difference_.empty())
    first_difference_ = fmt::format("record {}: {}", index, difference);
  if (observe_) observe_({index, record, outputs, refusal.empty() ? difference : refusal, relative});
}

void Score::AddFailure(const Error& error) {
  Refuse(fmt::format("golden record {}: {}", result_.records(), ToString(error)));
  result_.set_records(result_.records() + 1);
}

// Only the first reason is kept.
void Score::Refuse(const std::string& reason) {
  if (result_.message().empty()) result_.set_message(reason);
}

control::GoldenResult Score::Finished() const {
  control::GoldenResult result = result_;
  const auto records = static_cast<double>(result.records());
  result.set_score(records == 0 ? 0 : static_cast<double>(result.passed()) / records);
  if (result.message().empty() && result.score() < validation_.minimum()) {
    result.set_message(fmt::format(
        "the golden set {} scored {:.4f}, below the minimum of {:.4f} ({} of {} records passed; metric {}){}",
        validation_.golden_set(), result.score(), validation_.minimum(), result.passed(), result.records(),
        validation_.metric(), first_difference_.empty() ? "" : "; first difference: " + first_difference_));
  }
  result.set_ok(result.message().empty());
  return result;
}

}  // namespace longshore::golden_set
