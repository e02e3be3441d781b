// Match rules: `rollout.routes` of a Model, compiled for matching requests. Pure.
//
// docs/assignment.md describes the rules for users.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/regex/regex.h"
#include "longshore/control.pb.h"
#include "serving-node/routing/predict.h"

namespace longshore::routing {

// One condition of a rule. Immutable, so thread-safe.
class Condition {
 public:
  static Result<Condition> Compile(const control::MatchCondition& spec);

  // Returns true if a value of the header, cookie or claim, or the name of the client, satisfies the condition. A
  // header or cookie may occur several times. Uses `caller` of the call for claims and clients.
  bool Holds(const PredictCall& call) const;
  control::MatchCondition::Source source() const { return source_; }

 private:
  bool HoldsForHeader(const PredictCall& call) const;
  bool HoldsForCookie(const PredictCall& call) const;
  bool HoldsForClaim(const PredictCall& call) const;
  bool HoldsFor(std::string_view value) const;

  control::MatchCondition::Source source_ = control::MatchCondition::HEADER;
  std::string key_;
  control::MatchCondition::Operator op_ = control::MatchCondition::EXACT;
  std::vector<std::string> values_;  // Sorted.
  std::optional<regex::Expression> regex_;
};

struct Rule {
  std::string name;
  control::Role to = control::STABLE;  // STABLE or CANDIDATE.
  std::vector<Condition> conditions;   // If there are none, the rule matches each call.

  bool Matches(const PredictCall& call) const;
};

// The rules of one model, in their order.
class Rules {
 public:
  static constexpr int kUserRulesMax = 64;             // As kRoutesMax in controller/api/routes_spec.cc.
  static constexpr int kRulesMax = 1 + kUserRulesMax;  // The controller adds a rule in the phase Preview.

  // Returns InvalidArgument for a rule that this node cannot apply exactly as it is meant, for example one with an
  // operator of a newer release or with an invalid regular expression. The message names the model and the rule.
  static Result<Rules> Compile(const control::ModelState& model);
  // The rules that a model gets instead of those that Compile refused: one rule that sends each request to stable. The
  // refused rules might have kept any request from the candidate, so no request may get it.
  static Rules AllToStable(std::string why_refused);

  const std::vector<Rule>& rules() const { return rules_; }
  // Whether a rule has a condition on claims or clients, which need `caller` of the call.
  bool need_claims() const { return Need(control::MatchCondition::CLAIM); }
  bool need_clients() const { return Need(control::MatchCondition::CLIENT); }
  bool need_caller() const { return need_caller_; }
  // Whether these are the rules of AllToStable, and why: the error of Compile.
  bool refused() const { return !why_refused_.empty(); }
  const std::string& why_refused() const { return why_refused_; }

 private:
  bool Need(control::MatchCondition::Source source) const;

  std::vector<Rule> rules_;
  bool need_caller_ = false;
  std::string why_refused_;
};

}  // namespace longshore::routing
