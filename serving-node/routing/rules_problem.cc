#include "serving-node/routing/rules_problem.h"

#include <fmt/format.h>

namespace longshore::routing {
namespace {

std::string UnknownCallers(const Rules& rules, const Identities& identities) {
  std::string message;
  const auto add = [&](bool unknown, const char* what, const char* flag) {
    if (!unknown) return;
    message += fmt::format("{}match rules with {} never hold, because the node has no {}: start it with this flag",
                           message.empty() ? "" : "; ", what, flag);
  };
  add(rules.need_claims() && !identities.claims, "claims", "--jwt_jwks_file");
  add(rules.need_clients() && !identities.clients, "clients", "--auth_tokens_file");
  return message;
}

}  // namespace

std::optional<control::RulesReport> ProblemOf(const ModelRoutes& model, const Identities& identities) {
  const Rules& rules = *model.rules;
  std::string message = rules.refused() ? rules.why_refused() : UnknownCallers(rules, identities);
  if (message.empty()) return std::nullopt;
  control::RulesReport report;
  report.set_served_name(model.name);
  report.set_problem(rules.refused() ? control::RulesReport::REFUSED : control::RulesReport::UNKNOWN_CLIENT);
  report.set_message(std::move(message));
  return report;
}

}  // namespace longshore::routing
