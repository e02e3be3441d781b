// Match rules (`rollout.routes`): which version the requests with certain headers, cookies, claims or clients get,
// whatever the weights are. docs/assignment.md describes them.
#pragma once

#include <string>
#include <vector>

namespace longshore::api {

// What a condition of a match rule looks at.
enum class MatchSource { kHeader, kCookie, kClaim, kClient };
enum class MatchOperator { kExact, kPrefix, kSuffix, kIn, kPresent, kRegex, kContains };

struct MatchCondition {
  MatchSource source = MatchSource::kHeader;
  std::string key{};  // Name of the header (in lower case), cookie or claim; "" for a client.
  MatchOperator op = MatchOperator::kExact;
  std::vector<std::string> values{};  // One, except for kIn (one or more) and kPresent (none).
};

// A match rule: requests for which all conditions hold get this version.
struct Route {
  std::string name;
  std::vector<MatchCondition> conditions;
  bool to_candidate = false;
};

}  // namespace longshore::api
