#include "serving-node/evidence/agreement.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/node_contract/output_rules.h"
#include "serving-node/evidence/distances.h"
#include "serving-node/evidence/elements.h"

namespace longshore::evidence {
namespace {

using control::OutputRule;
using engine::TensorMap;
using tensor::DType;
using tensor::Tensor;

// Shares and cosines may miss their limit by this much because of rounding: 0.28 * 25 is more than 7.
constexpr double kRounding = 1e-12;

template <typename Number>
bool IsNear(Number a, Number b, const OutputRule& rule) {
  if (a == b) return true;
  if constexpr (std::floating_point<Number>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (std::isinf(a) || std::isinf(b)) return false;
  }
  return Distance(a, b) <= rule.absolute() + rule.relative() * std::abs(static_cast<double>(b));
}

template <typename T>
bool IsWithin(const Row<T>& a, const Row<T>& b, const OutputRule& rule) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!IsNear(a[i], b[i], rule)) return false;
  }
  return true;
}

// The k largest values of a position. If several columns have the smallest of them, only `ties` of these are meant.
template <typename Number>
struct Largest {
  Number smallest;
  size_t ties;
};

template <typename T>
auto LargestOf(const Row<T>& row, size_t k) {
  using Number = typename Row<T>::Number;
  std::vector<Number> values(row.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = row[i];
  const auto last = values.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::ranges::nth_element(values, last, std::greater());
  const Number smallest = *last;
  const auto above = std::ranges::count_if(values, [smallest](Number value) { return value > smallest; });
  return Largest<Number>{smallest, k - static_cast<size_t>(above)};
}

// Returns how many of the k largest columns two positions share. Ties are resolved so that they share as many as
// possible.
template <typename T>
size_t SharedColumns(const Row<T>& a, const Row<T>& b, size_t k) {
  const auto of_a = LargestOf(a, k);
  const auto of_b = LargestOf(b, k);
  size_t above = 0, only_a_ties = 0, only_b_ties = 0, both_tie = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] < of_a.smallest || b[i] < of_b.smallest) continue;
    const bool a_ties = a[i] == of_a.smallest, b_ties = b[i] == of_b.smallest;
    above += !a_ties && !b_ties ? 1 : 0;
    only_a_ties += a_ties && !b_ties ? 1 : 0;
    only_b_ties += !a_ties && b_ties ? 1 : 0;
    both_tie += a_ties && b_ties ? 1 : 0;
  }
  // A column that ties in one position takes one of its ties. A column that ties in both takes one of each, so it comes
  // last.
  const size_t from_a = std::min(only_a_ties, of_a.ties), from_b = std::min(only_b_ties, of_b.ties);
  return above + from_a + from_b + std::min({both_tie, of_a.ties - from_a, of_b.ties - from_b});
}

template <typename T>
bool HasSameColumns(const Row<T>& a, const Row<T>& b, size_t columns, const OutputRule& rule) {
  const bool top1 = rule.measure() == OutputRule::TOP1;
  const size_t k = top1 ? 1 : std::min(static_cast<size_t>(std::max(rule.k(), 1)), columns);
  const double wanted = (top1 ? 1 : rule.similarity()) * static_cast<double>(k) - kRounding;
  for (size_t at = 0; at < a.size(); at += columns) {
    const Row<T> x = a.Part(at, columns), y = b.Part(at, columns);
    if (x.has_nan() != y.has_nan()) return false;
    if (!x.has_nan() && static_cast<double>(SharedColumns(x, y, k)) < wanted) return false;
  }
  return true;
}

template <typename T>
double LargestMagnitude(const Row<T>& row) {
  double largest = 0;
  for (size_t i = 0; i < row.size(); ++i) largest = std::max(largest, std::abs(static_cast<double>(row[i])));
  return largest;
}

template <typename T>
bool HasSameValues(const Row<T>& a, const Row<T>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

// The vectors are scaled first, so that the squares of very large or very small numbers are not lost.
template <typename T>
bool IsSimilar(const Row<T>& a, const Row<T>& b, const OutputRule& rule) {
  if (a.has_nan() || b.has_nan()) return a.has_nan() && b.has_nan();
  if (HasSameValues(a, b)) return true;
  const double scale_a = LargestMagnitude(a), scale_b = LargestMagnitude(b);
  if (scale_a == 0 || scale_b == 0 || std::isinf(scale_a) || std::isinf(scale_b)) return false;
  double product = 0, square_a = 0, square_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]) / scale_a, y = static_cast<double>(b[i]) / scale_b;
    product += x * y;
    square_a += x * x;
    square_b += y * y;
  }
  return product / std::sqrt(square_a * square_b) >= rule.similarity() - kRounding;
}

// Without the whitespace at both ends, and with one space for each whitespace between words.
std::string Collapsed(std::string_view text) {
  std::string words;
  bool is_gap = false;
  for (const char c : text) {
    if (std::string_view(" \t\n\v\f\r").find(c) != std::string_view::npos) {
      is_gap = !words.empty();
      continue;
    }
    if (std::exchange(is_gap, false)) words += ' ';
    words += c;
  }
  return words;
}

bool IsEqual(const Tensor& a, const Tensor& b, int64_t row, const OutputRule& rule) {
  const auto size = static_cast<size_t>(a.elements() / RowsOf(a));
  const size_t begin = static_cast<size_t>(row) * size;
  if (a.type() != DType::kString) {
    const size_t bytes = tensor::ElementBytes(a.type());
    return std::memcmp(a.data() + begin * bytes, b.data() + begin * bytes, size * bytes) == 0;
  }
  return std::ranges::equal(a.values<std::string>().subspan(begin, size), b.values<std::string>().subspan(begin, size),
                            [&](const std::string& x, const std::string& y) {
                              return x == y || (rule.collapse_whitespace() && Collapsed(x) == Collapsed(y));
                            });
}

// Returns the output; nullptr if there is none with this name.
const Tensor* Find(const TensorMap& outputs, const std::string& name) {
  const auto found = outputs.find(name);
  return found == outputs.end() ? nullptr : &found->second;
}

OutputOutcome CompareOne(const NamedRule& named, const Answers& answers, uint64_t random) {
  const std::string& name = named.rule.output();
  OutputOutcome outcome{.rule = named.text, .output = name};
  const Tensor* stable = Find(answers.stable, name);
  if (answers.stable_before == nullptr || stable == nullptr || !AppliesTo(named.rule, *stable)) return outcome;
  outcome.counted = true;
  const auto rows = static_cast<uint64_t>(std::max<int64_t>(RowsOf(*stable), 1));
  const auto differs = [&](const Tensor* other) {
    return other == nullptr || !RowAgrees(named.rule, *other, *stable, static_cast<int64_t>(random % rows));
  };
  const Tensor* candidate = Find(answers.candidate, name);
  outcome.differs = differs(candidate);
  outcome.noise = differs(Find(*answers.stable_before, name));
  if (outcome.only_candidate_differs())
    outcome.severity = candidate == nullptr ? 1 : SeverityOf(named.rule, *candidate, *stable);
  return outcome;
}

// Returns true if a dimension after the first has a size that the signature states, and another size here.
bool StatedSizesDiffer(const Tensor& candidate, const Tensor& stable, const tensorflow::TensorShapeProto& stated) {
  for (int axis = 1; axis < std::min(stable.rank(), stated.dim_size()); ++axis) {
    if (stated.dim(axis).size() >= 0 && candidate.dim(axis) != stable.dim(axis)) return true;
  }
  return false;
}

bool IsMismatch(const Tensor* candidate, const Tensor* stable, const tensorflow::TensorShapeProto& stated) {
  if (candidate == nullptr || stable == nullptr) return true;
  return candidate->type() != stable->type() || candidate->rank() != stable->rank() ||
         StatedSizesDiffer(*candidate, *stable, stated);
}

}  // namespace

std::shared_ptr<const OutputRules> RulesOf(const control::Validation& validation) {
  auto rules = std::make_shared<OutputRules>();
  for (const OutputRule& rule : validation.output_rules()) {
    if (rules->size() == node_contract::kOutputRulesMax) break;
    std::string text = node_contract::TextOf(rule);
    if (std::ranges::find(*rules, text, &NamedRule::text) == rules->end()) rules->push_back({rule, std::move(text)});
  }
  return rules;
}

bool AppliesTo(const OutputRule& rule, const Tensor& output) {
  const bool is_real = WithElements(output.type(), [](auto) { return true; });
  switch (rule.measure()) {
    case OutputRule::EQUAL: return output.type() == DType::kString || tensor::ElementBytes(output.type()) > 0;
    case OutputRule::TOP1:
    case OutputRule::TOPK: return is_real && output.rank() >= 2;
    default: return is_real;
  }
}

bool RowAgrees(const OutputRule& rule, const Tensor& candidate, const Tensor& stable, int64_t row) {
  if (candidate.type() != stable.type() || candidate.shape() != stable.shape()) return false;
  if (stable.elements() == 0) return true;
  if (rule.measure() == OutputRule::EQUAL) return IsEqual(candidate, stable, row, rule);
  return WithElements(stable.type(), [&]<typename T>(T) {
    const Row<T> a(candidate, row), b(stable, row);
    switch (rule.measure()) {
      case OutputRule::COSINE: return IsSimilar(a, b, rule);
      case OutputRule::WITHIN: return IsWithin(a, b, rule);
      default: return HasSameColumns(a, b, static_cast<size_t>(stable.shape().back()), rule);
    }
  });
}

double SeverityOf(const OutputRule& rule, const Tensor& candidate, const Tensor& stable) {
  if (candidate.type() != stable.type() || candidate.shape() != stable.shape()) return 1;
  if (rule.measure() == OutputRule::WITHIN) return DistancesOf(candidate, stable).relative();
  double severity = 0;
  const int64_t rows = RowsOf(stable);
  for (int64_t row = 0; row < rows; ++row) severity += RowAgrees(rule, candidate, stable, row) ? 0 : 1;
  return severity / static_cast<double>(rows);
}

std::vector<OutputOutcome> CompareOutputs(const OutputRules& rules, const Answers& answers, uint64_t random) {
  std::vector<OutputOutcome> outcomes;
  for (const NamedRule& named : rules) outcomes.push_back(CompareOne(named, answers, random));
  return outcomes;
}

std::string Mismatch(const TensorMap& candidate, const TensorMap& stable, const tensorflow::SignatureDef& signature) {
  std::vector<std::string> names;
  for (const auto& [name, output] : candidate) names.push_back(name);
  for (const auto& [name, output] : stable) names.push_back(name);
  std::ranges::sort(names);
  const auto text = [](const Tensor* output) { return output ? engine::TypeText(*output) : "no such output"; };
  for (const std::string& name : names) {
    const Tensor* of_candidate = Find(candidate, name);
    const Tensor* of_stable = Find(stable, name);
    const auto stated = signature.outputs().find(name);
    const bool is_stated = stated != signature.outputs().end();
    if (!IsMismatch(of_candidate, of_stable,
                    is_stated ? stated->second.tensor_shape() : tensorflow::TensorShapeProto()))
      continue;
    return fmt::format("output \"{}\": the candidate has {}, stable has {}", name, text(of_candidate), text(of_stable));
  }
  return "";
}

}  // namespace longshore::evidence
