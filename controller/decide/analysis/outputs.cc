#include "controller/decide/analysis/outputs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/node_contract/output_rules.h"

namespace longshore::analysis {
namespace {

using statistics::ForgetGains;
using statistics::Multiply;

control::OutputRule::Measure MeasureOf(api::Measure measure) {
  switch (measure) {
    case api::Measure::kTopK: return control::OutputRule::TOPK;
    case api::Measure::kCosine: return control::OutputRule::COSINE;
    case api::Measure::kWithin: return control::OutputRule::WITHIN;
    case api::Measure::kEqual: return control::OutputRule::EQUAL;
    case api::Measure::kTop1: break;
  }
  return control::OutputRule::TOP1;
}

// How many pairs have each value of d - s.
struct Values {
  double above = 0;  // 1
  double below = 0;  // -1
  double equal = 0;  // 0
};

Values ValuesOf(const api::OutputEvidence& counts) {
  const auto above = static_cast<double>(counts.differs);
  const auto below = static_cast<double>(counts.noise);
  return {above, below, std::max(static_cast<double>(counts.pairs) - above - below, 0.0)};
}

// The logarithm of the product of 1 + bet (sign (d - s) - sign limit) over the pairs.
double LogOfBets(const Values& values, double bet, double sign, double limit) {
  return values.above * std::log1p(bet * sign * (1 - limit)) + values.below * std::log1p(bet * sign * (-1 - limit)) +
         values.equal * std::log1p(-bet * sign * limit);
}

double LogOfProof(const Values& values, double bet, double limit) { return LogOfBets(values, bet, -1, limit); }

void AddCounts(const api::OutputEvidence& more, api::OutputEvidence& total) {
  total.pairs += more.pairs;
  total.differs += more.differs;
  total.noise += more.noise;
  total.both += more.both;
}

void Test(const api::OutputEvidence& more, OutputTest& test) {
  const Values values = ValuesOf(more);
  for (size_t i = 0; i < kOutputBets.size(); ++i) {
    const double bet = kOutputBets[i].value;
    Multiply(test.worse, kOutputBets, i, LogOfBets(values, bet / (1 + test.limit), 1, test.limit));
    Multiply(test.proof, kOutputBets, i, LogOfProof(values, bet, test.limit));
  }
  AddCounts(more, test.counts);
}

// Returns true if the limit has changed.
bool ApplyLimit(double limit, OutputTest& test) {
  if (limit > test.limit) ForgetGains(test.worse);
  if (limit < test.limit) ForgetGains(test.proof);
  return std::exchange(test.limit, limit) != limit;
}

std::string PercentOf(int64_t part, int64_t whole) {
  return fmt::format("{:.3g} %", whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

control::OutputRule ToProto(const api::OutputRule& rule) {
  control::OutputRule proto;
  proto.set_output(rule.output);
  proto.set_measure(MeasureOf(rule.measure));
  proto.set_k(rule.k);
  if (rule.measure == api::Measure::kTopK) proto.set_similarity(rule.overlap);
  if (rule.measure == api::Measure::kCosine) proto.set_similarity(rule.similarity);
  if (rule.measure == api::Measure::kWithin) {
    proto.set_relative(rule.relative);
    proto.set_absolute(rule.absolute);
  }
  proto.set_collapse_whitespace(rule.collapse_whitespace);
  return proto;
}

std::string TextOf(const api::OutputRule& rule) { return node_contract::TextOf(ToProto(rule)); }

bool ApplyRules(const std::vector<api::OutputRule>& rules, std::vector<OutputTest>& tests) {
  std::vector<OutputTest> before = std::exchange(tests, {});
  bool has_changed = before.size() != rules.size();
  for (const api::OutputRule& rule : rules) {
    const std::string text = TextOf(rule);
    const double limit = 1 - rule.rows;
    const auto known = std::ranges::find(before, text, [](const OutputTest& test) { return test.counts.rule; });
    const bool is_new = known == before.end();
    tests.push_back(is_new ? OutputTest{.limit = limit, .counts = {.rule = text}} : std::move(*known));
    has_changed = ApplyLimit(limit, tests.back()) || is_new || has_changed;
  }
  return has_changed;
}

void TestOutputs(const std::vector<api::OutputEvidence>& more, std::vector<OutputTest>& tests) {
  for (const api::OutputEvidence& counts : more) {
    const auto test = std::ranges::find(tests, counts.rule, [](const OutputTest& known) { return known.counts.rule; });
    if (test != tests.end()) Test(counts, *test);
  }
}

void Add(const std::vector<api::OutputEvidence>& more, std::vector<api::OutputEvidence>& total) {
  if (more.empty()) return;
  const std::vector<api::OutputEvidence> before = std::exchange(total, more);
  for (api::OutputEvidence& sum : total) {
    const auto known = std::ranges::find(before, sum.rule, &api::OutputEvidence::rule);
    if (known != before.end()) AddCounts(*known, sum);
  }
}

std::optional<double> PairsToProve(const OutputTest& test, double e_limit) {
  // Before so many pairs their shares say little, and the versions are assumed to agree.
  constexpr int64_t kEnough = 30;
  const bool is_known = test.counts.pairs >= kEnough;
  const Values values = is_known ? ValuesOf(test.counts) : Values{.equal = 1};
  const double pairs = is_known ? static_cast<double>(test.counts.pairs) : 1;
  std::optional<double> fewest;
  for (size_t i = 0; i < kOutputBets.size(); ++i) {
    const double growth = LogOfProof(values, kOutputBets[i].value, test.limit) / pairs;
    const double grown = test.proof.log_e.size() == kOutputBets.size() ? test.proof.log_e[i] : 0;
    const double needed = (std::log(e_limit / kOutputBets[i].weight) - grown) / growth;
    if (growth > 0 && (!fewest || needed < *fewest)) fewest = std::max(needed, 1.0);
  }
  return fewest;
}

std::string ToText(const OutputTest& test) {
  const api::OutputEvidence& counts = test.counts;
  if (counts.pairs == 0)
    return fmt::format("{}: no pair has had an output yet that this rule can compare", counts.rule);
  return fmt::format("{}: differs in {} of {} compared rows, and stable from itself in {}; at most {:.3g} % may differ",
                     counts.rule, PercentOf(counts.differs + counts.both, counts.pairs), counts.pairs,
                     PercentOf(counts.noise + counts.both, counts.pairs), 100 * test.limit);
}

Json ToJson(const std::vector<OutputTest>& tests) {
  Json json = Json::array();
  for (const OutputTest& test : tests) {
    const api::OutputEvidence& counts = test.counts;
    json.push_back({{"rule", counts.rule},
                    {"limit", test.limit},
                    {"counts", {counts.pairs, counts.differs, counts.noise, counts.both}},
                    {"worse", test.worse.log_e},
                    {"proof", test.proof.log_e}});
  }
  return json;
}

std::vector<OutputTest> OutputTestsFrom(const Json& json) {
  std::vector<OutputTest> tests;
  for (const Json& item : json) {
    const auto counts = item.at("counts").get<std::array<int64_t, 4>>();
    tests.push_back({.limit = item.at("limit").get<double>(),
                     .counts = {item.at("rule").get<std::string>(), counts[0], counts[1], counts[2], counts[3]},
                     .worse = {item.at("worse").get<std::vector<double>>()},
                     .proof = {item.at("proof").get<std::vector<double>>()}});
  }
  return tests;
}

}  // namespace longshore::analysis
