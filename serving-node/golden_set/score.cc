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

bool SameTop1(const TensorMap& outputs, const TensorMap& expected) {
  const Tensor* ours = Scores(outputs);
  const Tensor* theirs = Scores(expected);
  if (ours == nullptr || theirs == nullptr || ours->shape() != theirs->shape()) return false;
  return !evidence::Compare({{"scores", *ours}}, {{"scores", *theirs}}).top1_changed;
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

// Returns true if an expected output that is neither float nor double is missing or differs.
bool ExactOutputsDiffer(const TensorMap& outputs, const TensorMap& expected) {
  for (const auto& [name, want] : expected) {
    if (want.type() == DType::kFloat || want.type() == DType::kDouble) continue;
    const auto found = outputs.find(name);
    if (found == outputs.end() || !BitEqual({{name, found->second}}, {{name, want}})) return true;
  }
  return false;
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

std::string FirstDifference(const TensorMap& outputs, const TensorMap& expected,
                            const control::Validation& validation) {
  if (validation.metric() != "tolerance") return "the largest score is not in the same column";
  for (const auto& [name, want] : expected) {
    const std::string difference = DifferenceOf(name, outputs, want, validation.relative_tolerance());
    if (!difference.empty()) return difference;
  }
  return "the outputs have other names";
}

}  // namespace

Score::Score(const control::Validation& validation) : validation_(validation) {}

Status Score::Judge(const Record& record, const RunFunction& run) {
  ASSIGN_OR_RETURN(const TensorMap outputs, run(record.request));
  if (validation_.deterministic()) {
    ASSIGN_OR_RETURN(const TensorMap repeated, run(record.request));
    if (!BitEqual(outputs, repeated))
      Refuse(fmt::format("the input of golden record {} gave two different answers", result_.records()));
  }
  Add(outputs, record.expected);
  return {};
}

void Score::Add(const TensorMap& outputs, const TensorMap& expected) {
  const int64_t record = result_.records();
  const double difference = evidence::Compare(outputs, expected).relative;
  result_.set_worst_relative_difference(std::max(result_.worst_relative_difference(), difference));
  if (validation_.non_finite_reject() && evidence::HasNonFinite(outputs))
    Refuse(fmt::format("an output of golden record {} is NaN or Inf", record));
  const bool passed = validation_.metric() == "tolerance"
                          ? difference <= validation_.relative_tolerance() && !ExactOutputsDiffer(outputs, expected)
                          : SameTop1(outputs, expected);
  result_.set_records(record + 1);
  if (passed) result_.set_passed(result_.passed() + 1);
  if (!passed && first_difference_.empty())
    first_difference_ = fmt::format("record {}: {}", record, FirstDifference(outputs, expected, validation_));
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
