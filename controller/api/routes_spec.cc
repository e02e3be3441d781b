// Reads and writes the match rules of a rollout.
#include <algorithm>

#include "common/base/lower_case.h"
#include "common/regex/regex.h"
#include "controller/api/fields.h"
#include "controller/api/specs.h"

namespace longshore::api {
namespace {

constexpr size_t kRoutesMax = 64;
constexpr size_t kConditionsMax = 16;  // The largest number of conditions of one rule.
constexpr size_t kValuesMax = 64;
constexpr size_t kClaimNameBytesMax = 256;

struct OperatorName {
  const char* name;
  MatchOperator op;
};
constexpr OperatorName kOperators[] = {{"exact", MatchOperator::kExact},      {"prefix", MatchOperator::kPrefix},
                                       {"suffix", MatchOperator::kSuffix},    {"in", MatchOperator::kIn},
                                       {"present", MatchOperator::kPresent},  {"regex", MatchOperator::kRegex},
                                       {"contains", MatchOperator::kContains}};

struct SourceName {
  const char* name;
  MatchSource source;
};
constexpr SourceName kKeyedSources[] = {
    {"headers", MatchSource::kHeader}, {"cookies", MatchSource::kCookie}, {"claims", MatchSource::kClaim}};

// Reads the value of one operator if it is there.
void ReadOperator(Fields& fields, const OperatorName& each, MatchCondition& out) {
  if (fields.Has(each.name)) out.op = each.op;
  if (each.op == MatchOperator::kIn) {
    fields.TextSet(each.name, kValuesMax, kMatchValue, out.values);
    if (fields.Has(each.name) && out.values.empty()) fields.Refuse(each.name, "is empty");
    return;
  }
  if (each.op == MatchOperator::kPresent) {
    bool present = true;
    fields.Flag(each.name, present);
    if (!present) fields.Refuse(each.name, "false is not supported: only `present: true` is a condition");
    return;
  }
  std::string value;
  fields.Text(each.name, value, kMatchValue);
  if (!fields.Has(each.name) || value.empty()) return;
  if (each.op == MatchOperator::kRegex) {
    if (const auto compiled = regex::Expression::Compile(value); !compiled)
      return fields.Refuse(each.name, compiled.error().message);
  }
  out.values = {value};
}

void ReadOperators(Fields& fields, MatchCondition& out) {
  size_t found = 0;
  std::string known;
  for (const OperatorName& each : kOperators) {
    if (each.op == MatchOperator::kContains && out.source != MatchSource::kClaim) continue;
    known += (known.empty() ? "" : ", ") + std::string(each.name);
    found += fields.Has(each.name) ? 1 : 0;
    ReadOperator(fields, each, out);
  }
  fields.Done();
  if (found != 1)
    fields.reader().Refuse(fields.path(), fmt::format("has {} operators, but needs exactly one of {}", found, known));
}

// Refuses a name of a header, cookie or claim that no request can have, or by which not all nodes would decide alike.
void CheckKey(Fields& fields, const MatchCondition& condition, const std::vector<MatchCondition>& earlier) {
  const std::string& key = condition.key;
  const auto refuse = [&](const std::string& why) { fields.reader().Refuse(fields.path(), why); };
  if (condition.source == MatchSource::kClaim) {
    if (key.empty() || key.size() > kClaimNameBytesMax)
      refuse(fmt::format("a claim's name has 1 to {} characters", kClaimNameBytesMax));
    return;
  }
  if (!Matches(key, kHeaderName)) return refuse(fmt::format("{} is not {}", Shown(key), kHeaderName.what));
  if (const std::string why = WhyNotChosenBy(key); condition.source == MatchSource::kHeader && !why.empty())
    return refuse(why);
  const auto same = [&](const MatchCondition& each) { return each.source == condition.source && each.key == key; };
  if (std::ranges::any_of(earlier, same)) refuse("occurs twice: upper and lower case make no difference");
}

void ReadKeyed(Fields& match, const SourceName& source, std::vector<MatchCondition>& out) {
  match.ObjectMap(source.name, kConditionsMax, [&](Fields& fields, const std::string& name) {
    MatchCondition condition{.source = source.source, .key = name};
    if (source.source == MatchSource::kHeader) condition.key = LowerCase(name);
    CheckKey(fields, condition, out);
    ReadOperators(fields, condition);
    out.push_back(std::move(condition));
  });
  if (match.Has(source.name) && std::ranges::count(out, source.source, &MatchCondition::source) == 0)
    match.Refuse(source.name, "is empty");
}

void ReadClients(Fields& match, std::vector<MatchCondition>& out) {
  MatchCondition condition{.source = MatchSource::kClient, .op = MatchOperator::kIn};
  match.TextSet("clients", kValuesMax, kMatchValue, condition.values);
  if (!match.Has("clients")) return;
  if (condition.values.empty()) return match.Refuse("clients", "is empty");
  out.push_back(std::move(condition));
}

void ReadMatch(Fields& match, std::vector<MatchCondition>& out) {
  for (const SourceName& source : kKeyedSources) ReadKeyed(match, source, out);
  ReadClients(match, out);
  match.Done();
  const size_t count = out.size();
  if (count == 0) match.reader().Refuse(match.path(), "is empty: a rule needs at least one condition");
  if (count > kConditionsMax) {
    match.reader().Refuse(match.path(),
                          fmt::format("has {} conditions, but at most {} are allowed", count, kConditionsMax));
  }
}

Route ReadRoute(Fields& fields, const std::vector<Route>& earlier) {
  Route route;
  fields.Text("name", route.name, kRouteName, Need::kRequired);
  if (route.name == "preview") fields.Refuse("name", "\"preview\" is reserved for the rule of `strategy: BlueGreen`");
  if (std::ranges::count(earlier, route.name, &Route::name) > 0)
    fields.Refuse("name", fmt::format("\"{}\" occurs twice", route.name));
  fields.Object(
      "match", [&](Fields& match) { ReadMatch(match, route.conditions); }, Need::kRequired);
  fields.Choice<bool>("to", route.to_candidate, {{"Candidate", true}, {"Stable", false}}, Need::kRequired);
  return route;
}

Json OperatorToJson(const MatchCondition& condition) {
  const auto name = std::ranges::find(kOperators, condition.op, &OperatorName::op)->name;
  if (condition.op == MatchOperator::kPresent) return {{name, true}};
  if (condition.op == MatchOperator::kIn) return {{name, condition.values}};
  return {{name, condition.values.at(0)}};
}

Json RouteToJson(const Route& route) {
  Json match = Json::object();
  for (const MatchCondition& condition : route.conditions) {
    if (condition.source == MatchSource::kClient) {
      match["clients"] = condition.values;
      continue;
    }
    const auto source = std::ranges::find(kKeyedSources, condition.source, &SourceName::source)->name;
    match[source][condition.key] = OperatorToJson(condition);
  }
  return {{"name", route.name}, {"match", std::move(match)}, {"to", route.to_candidate ? "Candidate" : "Stable"}};
}

}  // namespace

std::string WhyNotChosenBy(const std::string& header) {
  if (header == "authorization") return "is not sent to other nodes: use a match rule with clients or claims";
  if (header == "cookie") return "holds all cookies of a request: use a match rule with cookies";
  return "";
}

void ReadRoutes(Fields& rollout, std::vector<Route>& out) {
  rollout.Objects("routes", kRoutesMax, [&](Fields& fields) { out.push_back(ReadRoute(fields, out)); });
  if (rollout.Has("routes") && out.empty()) rollout.Refuse("routes", "is empty");
}

void PutRoutes(const std::vector<Route>& routes, Json& rollout) {
  for (const Route& route : routes) rollout["routes"].push_back(RouteToJson(route));
}

}  // namespace longshore::api
