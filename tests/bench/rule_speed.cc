#include "tests/bench/rule_speed.h"

#include <algorithm>
#include <functional>
#include <random>
#include <regex>

#include "common/regex/regex.h"
#include "serving-node/routing/matching.h"
#include "tests/bench/cpu_time.h"

namespace longshore::bench {
namespace {

constexpr int kRounds = 31;
constexpr int kTimesPerRound = 1000;
constexpr int kValuesPerKind = 61;
constexpr const char* kExpressions[] = {"team-[0-9]+|ml", ".*@(example|test)\\.com", "v[0-9]+\\.[0-9]+",
                                        "(beta|canary)-.*"};

// The classic expressions for which backtracking takes exponential time, counted repetitions, and expressions whose
// automaton has a new state for each position of a random text.
constexpr const char* kBombs[] = {"(a+)+b",
                                  "(a|a)*b",
                                  "(a|aa)+b",
                                  "(a*)*b",
                                  "([a-z]+)*1",
                                  "(x+x+)+y",
                                  "(.*)(.*)(.*)(.*)b",
                                  "(.+)+(.+)+(.+)+z",
                                  "^(([a-z])+.)+[A-Z]([a-z])+$",
                                  "(\\w+\\s?)*!",
                                  "(.*,){11}P",
                                  "(.*a){20}",
                                  "(a?){20}a{20}",
                                  "(a{0,15}){0,15}b",
                                  "(a{1,30}){1,30}",
                                  "(\\pL+)*1",
                                  ".*a.{20}",
                                  "[ab]*a[ab]{12}",
                                  "[ab]*a[ab]{40}",
                                  "(?:[ab]*a){12}[ab]{15}c"};

// The letters of which hostile values consist.
constexpr const char* kKinds[] = {"a", "ab", "aab", "x", "abc ,x1.", "aB9 -", "a,"};

double CpuUs() { return CpuSeconds() * 1e6; }

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double UsOf(const std::function<bool()>& matches) {
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = CpuUs();
    for (int i = 0; i < kTimesPerRound; ++i) CHECK(!matches());
    rounds.push_back((CpuUs() - begin) / kTimesPerRound);
  }
  return MedianOf(std::move(rounds));
}

routing::PredictCall TypicalCall() {
  routing::PredictCall call;
  call.headers = {{"user-agent", "grpc-python/1.60.0 grpc-c/37.0.0 (linux; chttp2)"},
                  {"x-request-id", "5f0c1b9e-7a54-4f5d-9a0e-2c1d3b4a5e6f"},
                  {"x-user", "someone@elsewhere.org"},
                  {"x-team", "search"},
                  {"x-release", "2026-11"},
                  {"cookie", "session=8a7d6c5b4e3f; theme=dark; beta=0"}};
  call.caller.client = "web";
  return call;
}

routing::Rules SixteenRules() {
  using control::MatchCondition;
  control::ModelState model;
  const auto add = [&](MatchCondition::Source source, const std::string& key, MatchCondition::Operator op,
                       const std::vector<std::string>& values) {
    control::Route& route = *model.add_routes();
    route.set_name(fmt::format("r{}", model.routes_size()));
    route.set_to(control::CANDIDATE);
    MatchCondition& condition = *route.add_conditions();
    condition.set_source(source);
    condition.set_key(key);
    condition.set_op(op);
    for (const std::string& value : values) condition.add_values(value);
  };
  for (const char* key : {"x-team", "x-user", "x-release"}) {
    add(MatchCondition::HEADER, key, MatchCondition::EXACT, {"none"});
    add(MatchCondition::HEADER, key, MatchCondition::PREFIX, {"none-"});
    add(MatchCondition::HEADER, key, MatchCondition::IN, {"none", "nothing", "nobody"});
  }
  add(MatchCondition::HEADER, "x-beta", MatchCondition::PRESENT, {});
  add(MatchCondition::COOKIE, "beta", MatchCondition::EXACT, {"1"});
  add(MatchCondition::CLIENT, "", MatchCondition::IN, {"nightly-batch"});
  for (const char* expression : kExpressions)
    add(MatchCondition::HEADER, "x-user", MatchCondition::REGEX, {expression});
  CHECK(model.routes_size() == 16);
  auto rules = routing::Rules::Compile(model);
  CHECK(rules.has_value());
  return std::move(*rules);
}

// Returns the median time of values of the longest length that can match, each of which is matched once.
double UsOfKind(const regex::Expression& compiled, std::string_view letters, char last, std::mt19937& random) {
  std::vector<double> times;
  for (int i = 0; i < kValuesPerKind; ++i) {
    std::string value;
    while (value.size() < compiled.text_bytes_max()) value += letters[random() % letters.size()];
    value.back() = last;
    const double begin = CpuUs();
    compiled.Matches(value);
    times.push_back(CpuUs() - begin);
  }
  return MedianOf(std::move(times));
}

}  // namespace

RuleSpeed MeasureRules() {
  const routing::PredictCall call = TypicalCall();
  const routing::Rules rules = SixteenRules();
  std::vector<regex::Expression> ours;
  std::vector<std::regex> theirs;
  for (const char* expression : kExpressions) {
    ours.push_back(*regex::Expression::Compile(expression));
    theirs.emplace_back(expression, std::regex::ECMAScript | std::regex::optimize);
  }
  const std::string user(*routing::HeaderValue(call.headers, "x-user"));
  RuleSpeed speed;
  speed.rules_us = UsOf([&] {
    return std::ranges::any_of(rules.rules(), [&](const routing::Rule& rule) { return rule.Matches(call); });
  });
  speed.regex_us =
      UsOf([&] { return std::ranges::any_of(ours, [&](const auto& each) { return each.Matches(user); }); });
  speed.std_regex_us =
      UsOf([&] { return std::ranges::any_of(theirs, [&](const auto& each) { return std::regex_match(user, each); }); });
  return speed;
}

std::vector<Bomb> MeasureBombs() {
  std::mt19937 random(1);
  std::vector<Bomb> bombs;
  for (const char* expression : kBombs) {
    Bomb bomb{.expression = expression, .refusal = {}};
    const auto compiled = regex::Expression::Compile(expression);
    if (!compiled) bomb.refusal = compiled.error().message;
    for (const char* letters : kKinds) {
      for (const char last : {letters[0], '!'})
        if (compiled) bomb.us = std::max(bomb.us, UsOfKind(*compiled, letters, last, random));
    }
    bombs.push_back(std::move(bomb));
  }
  return bombs;
}

}  // namespace longshore::bench
