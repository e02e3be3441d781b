#include "serving-node/routing/matching.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "serving-node/routing/assignment.h"

namespace longshore::routing {
namespace {

using control::MatchCondition;

Status CheckCount(const MatchCondition& spec) {
  const int values = spec.values_size();
  const auto wrong = [&](const char* takes) {
    return InvalidArgument("{} takes {}, but has {}", MatchCondition::Operator_Name(spec.op()), takes, values);
  };
  switch (spec.op()) {
    case MatchCondition::PRESENT: return values == 0 ? Status() : wrong("no value");
    case MatchCondition::IN: return values > 0 ? Status() : wrong("at least one value");
    default: return values == 1 ? Status() : wrong("one value");
  }
}

Status CheckShape(const MatchCondition& spec) {
  if (!MatchCondition::Source_IsValid(spec.source()))
    return InvalidArgument("this release does not know the source {}", static_cast<int>(spec.source()));
  if (!MatchCondition::Operator_IsValid(spec.op()))
    return InvalidArgument("this release does not know the operator {}", static_cast<int>(spec.op()));
  if (spec.key().empty() != (spec.source() == MatchCondition::CLIENT))
    return InvalidArgument("a condition on a header, cookie or claim has a key, and one on a client has none");
  if (spec.op() == MatchCondition::CONTAINS && spec.source() != MatchCondition::CLAIM)
    return InvalidArgument("the operator CONTAINS is for claims only");
  return CheckCount(spec);
}

// The text of a claim that is compared with the values of a condition; nullopt for null, fractions, lists and objects.
std::optional<std::string> TextOf(const Json& claim) {
  if (claim.is_string()) return claim.get<std::string>();
  if (claim.is_boolean() || claim.is_number_integer()) return claim.dump();
  return std::nullopt;
}

Result<Rule> CompileRule(const control::Route& route) {
  if (route.to() != control::STABLE && route.to() != control::CANDIDATE)
    return InvalidArgument("its target is neither STABLE nor CANDIDATE");
  if (route.conditions().empty()) return InvalidArgument("it has no condition");
  Rule rule{.name = route.name(), .to = route.to(), .conditions = {}};
  for (const MatchCondition& spec : route.conditions()) {
    ASSIGN_OR_RETURN(Condition condition, Condition::Compile(spec));
    rule.conditions.push_back(std::move(condition));
  }
  return rule;
}

}  // namespace

Result<Condition> Condition::Compile(const MatchCondition& spec) {
  RETURN_IF_ERROR(CheckShape(spec));
  Condition condition;
  condition.source_ = spec.source();
  condition.key_ = spec.key();
  condition.op_ = spec.op();
  condition.values_.assign(spec.values().begin(), spec.values().end());
  std::ranges::sort(condition.values_);
  if (spec.op() == MatchCondition::REGEX) {
    ASSIGN_OR_RETURN(condition.regex_, regex::Expression::Compile(spec.values(0)));
  }
  return condition;
}

bool Condition::Holds(const PredictCall& call) const {
  switch (source_) {
    case MatchCondition::HEADER: return HoldsForHeader(call);
    case MatchCondition::COOKIE: return HoldsForCookie(call);
    case MatchCondition::CLAIM: return HoldsForClaim(call);
    case MatchCondition::CLIENT: return !call.caller.client.empty() && HoldsFor(call.caller.client);
    default: return false;
  }
}

bool Condition::HoldsForHeader(const PredictCall& call) const {
  return std::ranges::any_of(call.headers,
                             [this](const auto& header) { return header.first == key_ && HoldsFor(header.second); });
}

bool Condition::HoldsForCookie(const PredictCall& call) const {
  return std::ranges::any_of(call.headers, [this](const auto& header) {
    return header.first == "cookie" &&
           AnyCookie(header.second, key_, [this](std::string_view value) { return HoldsFor(value); });
  });
}

bool Condition::HoldsForClaim(const PredictCall& call) const {
  if (!call.caller.claims) return false;
  const auto claim = call.caller.claims->find(key_);
  if (claim == call.caller.claims->end() || claim->is_null()) return false;
  if (op_ == MatchCondition::PRESENT) return true;
  if (op_ == MatchCondition::CONTAINS) {
    const auto equal = [this](const Json& element) {
      if (element.is_string()) return element.get_ref<const std::string&>() == values_[0];
      return TextOf(element) == values_[0];
    };
    return claim->is_array() && std::ranges::any_of(*claim, equal);
  }
  const auto text = TextOf(*claim);
  return text && HoldsFor(*text);
}

bool Condition::HoldsFor(std::string_view value) const {
  switch (op_) {
    case MatchCondition::EXACT: return value == values_[0];
    case MatchCondition::PREFIX: return value.starts_with(values_[0]);
    case MatchCondition::SUFFIX: return value.ends_with(values_[0]);
    case MatchCondition::IN: return std::binary_search(values_.begin(), values_.end(), value, std::less<>());
    case MatchCondition::PRESENT: return true;
    case MatchCondition::REGEX: return regex_->Matches(value);
    default: return false;
  }
}

bool Rule::Matches(const PredictCall& call) const {
  return std::ranges::all_of(conditions, [&call](const Condition& condition) { return condition.Holds(call); });
}

bool Rules::Need(MatchCondition::Source source) const {
  return std::ranges::any_of(rules_, [source](const Rule& rule) {
    return std::ranges::count(rule.conditions, source, &Condition::source) > 0;
  });
}

Result<Rules> Rules::Compile(const control::ModelState& model) {
  if (model.routes_size() > kRulesMax) {
    return InvalidArgument("model \"{}\" has {} match rules, but at most {} are allowed", model.served_name(),
                           model.routes_size(), kRulesMax);
  }
  Rules rules;
  for (const control::Route& route : model.routes()) {
    auto rule = CompileRule(route);
    if (!rule) {
      return InvalidArgument("model \"{}\", match rule \"{}\": {}", model.served_name(), route.name(),
                             rule.error().message);
    }
    rules.rules_.push_back(std::move(*rule));
  }
  rules.need_caller_ = rules.need_claims() || rules.need_clients();
  return rules;
}

Rules Rules::AllToStable(std::string why_refused) {
  Rules rules;
  rules.rules_.push_back({.name = {}, .to = control::STABLE, .conditions = {}});
  rules.why_refused_ = std::move(why_refused);
  return rules;
}

}  // namespace longshore::routing
