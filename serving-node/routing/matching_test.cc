#include "serving-node/routing/matching.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

namespace longshore::routing {
namespace {

using testing::HasSubstr;

// Compiles the text of a ModelState.
Result<Rules> RulesOf(const std::string& routes) {
  control::ModelState model;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(routes, &model)) << routes;
  model.set_served_name("digits");
  return Rules::Compile(model);
}

// Returns whether one rule with these conditions matches the call.
bool Match(const std::string& conditions, const PredictCall& call) {
  const auto rules = RulesOf("routes { name: \"r\" to: CANDIDATE " + conditions + " }");
  EXPECT_TRUE(rules) << rules.error().message;
  return rules && rules->rules()[0].Matches(call);
}

bool HeaderMatches(const std::string& op, const std::string& value) {
  PredictCall call;
  call.headers = {{"x-other", "no"}, {"x-team", value}};
  return Match("conditions { source: HEADER key: \"x-team\" " + op + " }", call);
}

TEST(Matching, EachOperatorComparesTheWholeValueOrAPartOfIt) {
  struct Case {
    const char* op;
    std::vector<const char*> good;
    std::vector<const char*> bad;
  };
  const Case cases[] = {{"op: EXACT values: \"ml\"", {"ml"}, {"", "ML", "mlx", " ml"}},
                        {"op: PREFIX values: \"ml-\"", {"ml-", "ml-7"}, {"", "ml", "xml-"}},
                        {"op: SUFFIX values: \"@a.com\"", {"@a.com", "b@a.com"}, {"", "b@a.com.org", "a.com"}},
                        {"op: IN values: \"b\" values: \"a\" values: \"ml\"", {"a", "b", "ml"}, {"", "c", "a,b", "m"}},
                        {"op: PRESENT", {"", "a"}, {}},
                        {"op: REGEX values: \"ml-[0-9]+\"", {"ml-7", "ml-77"}, {"", "ml-", "xml-7", "ml-7x"}}};
  for (const Case& each : cases) {
    for (const auto* value : each.good) EXPECT_TRUE(HeaderMatches(each.op, value)) << each.op << " " << value;
    for (const auto* value : each.bad) EXPECT_FALSE(HeaderMatches(each.op, value)) << each.op << " " << value;
  }
}

TEST(Matching, AMissingHeaderCookieClaimOrClientSatisfiesNoCondition) {
  for (const auto* source : {"HEADER key: \"k\"", "COOKIE key: \"k\"", "CLAIM key: \"k\"", "CLIENT"}) {
    for (const auto* op : {"PRESENT", "EXACT values: \"\"", "PREFIX values: \"\"", "REGEX values: \".*\""})
      EXPECT_FALSE(Match(fmt::format("conditions {{ source: {} op: {} }}", source, op), {})) << source << " " << op;
  }
}

TEST(Matching, AnyOccurrenceOfAHeaderOrCookieIsEnough) {
  PredictCall call;
  call.headers = {{"x-team", "a"}, {"cookie", "t=1; u=2;t=3"}, {"x-team", "b"}, {"cookie", "t=4; =x; t"}};
  for (const auto* value : {"a", "b"})
    EXPECT_TRUE(Match(fmt::format("conditions {{ key: \"x-team\" values: \"{}\" }}", value), call)) << value;
  for (const auto* value : {"1", "3", "4"})
    EXPECT_TRUE(Match(fmt::format("conditions {{ source: COOKIE key: \"t\" values: \"{}\" }}", value), call)) << value;
  for (const auto* value : {"2", "", "1; u=2"})
    EXPECT_FALSE(Match(fmt::format("conditions {{ source: COOKIE key: \"t\" values: \"{}\" }}", value), call)) << value;
}

TEST(Matching, AllConditionsOfARuleMustHold) {
  const std::string both = "conditions { key: \"a\" values: \"1\" } conditions { key: \"b\" op: PRESENT }";
  PredictCall call;
  call.headers = {{"a", "1"}};
  EXPECT_FALSE(Match(both, call));
  call.headers = {{"a", "1"}, {"b", ""}};
  EXPECT_TRUE(Match(both, call));
  call.headers = {{"a", "2"}, {"b", ""}};
  EXPECT_FALSE(Match(both, call));
}

TEST(Matching, AClientMatchesByItsName) {
  PredictCall call;
  call.caller.client = "web";
  EXPECT_TRUE(Match("conditions { source: CLIENT op: IN values: \"batch\" values: \"web\" }", call));
  EXPECT_FALSE(Match("conditions { source: CLIENT op: IN values: \"batch\" }", call));
  call.headers = {{"client", "batch"}};
  EXPECT_FALSE(Match("conditions { source: CLIENT op: IN values: \"batch\" }", call));
}

TEST(Matching, AClaimMatchesByItsTextAndAListByItsElements) {
  PredictCall call;
  call.caller.claims = std::make_shared<const Json>(Json{{"email", "a@b.org"},
                                                         {"admin", true},
                                                         {"level", 7},
                                                         {"share", 0.5},
                                                         {"nothing", nullptr},
                                                         {"groups", {"dev", "testers", 7}},
                                                         {"address", {{"country", "SE"}}}});
  for (const auto* good : {"key: \"email\" op: SUFFIX values: \"@b.org\"", "key: \"admin\" values: \"true\"",
                           "key: \"level\" values: \"7\"", "key: \"groups\" op: CONTAINS values: \"testers\"",
                           "key: \"groups\" op: CONTAINS values: \"7\"", "key: \"groups\" op: PRESENT",
                           "key: \"address\" op: PRESENT", "key: \"share\" op: PRESENT"}) {
    EXPECT_TRUE(Match(fmt::format("conditions {{ source: CLAIM {} }}", good), call)) << good;
  }
  for (const auto* bad :
       {"key: \"groups\" values: \"testers\"", "key: \"groups\" op: CONTAINS values: \"test\"",
        "key: \"email\" op: CONTAINS values: \"a@b.org\"", "key: \"share\" values: \"0.5\"",
        "key: \"nothing\" op: PRESENT", "key: \"country\" op: PRESENT", "key: \"address\" op: REGEX values: \".*\""}) {
    EXPECT_FALSE(Match(fmt::format("conditions {{ source: CLAIM {} }}", bad), call)) << bad;
  }
}

TEST(Matching, SaysWhetherARuleNeedsTheIdentityOfTheClient) {
  EXPECT_FALSE(RulesOf("routes { to: STABLE conditions { key: \"a\" op: PRESENT } }")->need_caller());
  EXPECT_TRUE(RulesOf("routes { to: STABLE conditions { source: CLAIM key: \"a\" op: PRESENT } }")->need_caller());
  EXPECT_TRUE(RulesOf("routes { to: STABLE conditions { source: CLIENT values: \"a\" } }")->need_caller());
}

TEST(Matching, RefusesARuleThatItCannotApply) {
  const std::pair<std::string, std::string> cases[] = {
      {"to: EXTRA conditions { key: \"a\" op: PRESENT }", "its target is neither STABLE nor CANDIDATE"},
      {"conditions { key: \"a\" op: PRESENT }", "its target is neither STABLE nor CANDIDATE"},
      {"to: STABLE", "it has no condition"},
      {"to: STABLE conditions { op: PRESENT }", "a condition on a header, cookie or claim has a key"},
      {"to: STABLE conditions { source: CLIENT key: \"a\" values: \"b\" }", "and one on a client has none"},
      {"to: STABLE conditions { key: \"a\" op: CONTAINS values: \"b\" }", "the operator CONTAINS is for claims only"},
      {"to: STABLE conditions { key: \"a\" op: PRESENT values: \"b\" }", "PRESENT takes no value, but has 1"},
      {"to: STABLE conditions { key: \"a\" op: IN }", "IN takes at least one value, but has 0"},
      {"to: STABLE conditions { key: \"a\" values: \"b\" values: \"c\" }", "EXACT takes one value, but has 2"},
      {"to: STABLE conditions { key: \"a\" op: REGEX values: \"a(\" }", "RE2: missing ): a("}};
  for (const auto& [route, message] : cases) {
    const auto rules = RulesOf("routes { name: \"r\" " + route + " }");
    ASSERT_FALSE(rules) << route;
    EXPECT_THAT(rules.error().message, HasSubstr("model \"digits\", match rule \"r\": "));
    EXPECT_THAT(rules.error().message, HasSubstr(message));
  }
}

TEST(Matching, RefusesWhatANewerControllerMaySend) {
  control::ModelState model;
  control::Route& route = *model.add_routes();
  route.set_to(control::STABLE);
  control::MatchCondition& condition = *route.add_conditions();
  condition.set_key("a");
  condition.set_op(static_cast<control::MatchCondition::Operator>(99));
  EXPECT_THAT(Rules::Compile(model).error().message, HasSubstr("this release does not know the operator 99"));
  condition.set_op(control::MatchCondition::PRESENT);
  condition.set_source(static_cast<control::MatchCondition::Source>(9));
  EXPECT_THAT(Rules::Compile(model).error().message, HasSubstr("this release does not know the source 9"));
  condition.set_source(control::MatchCondition::HEADER);
}

TEST(Matching, AcceptsTheRulesOfAUserWithTheRuleOfThePreviewAndNoMore) {
  control::ModelState model;
  const auto add = [&model](const std::string& name, control::Role to) {
    control::Route& route = *model.add_routes();
    route.set_name(name);
    route.set_to(to);
    control::MatchCondition& condition = *route.add_conditions();
    condition.set_key(name);
    condition.set_op(control::MatchCondition::PRESENT);
  };
  add("preview", control::CANDIDATE);
  for (int i = 0; i < 64; ++i) add(fmt::format("rule-{}", i), control::STABLE);
  const auto rules = Rules::Compile(model);
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(rules->rules().size(), 65u);
  add("one-more", control::STABLE);
  EXPECT_THAT(Rules::Compile(model).error().message, HasSubstr("has 66 match rules, but at most 65 are allowed"));
}

}  // namespace
}  // namespace longshore::routing
