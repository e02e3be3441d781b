#include "serving-node/identity/renewal.h"

#include <algorithm>

namespace longshore::identity {
namespace {

constexpr Duration kDay = std::chrono::hours(24);

}  // namespace

bool IsDue(const Renewal& renewal, TimePoint now) {
  const auto& [from, until] = renewal.validity;
  const bool is_old = now - from >= std::min(kDay, (until - from) / 3);
  const std::string& authorities = renewal.authorities_trusted;
  const bool is_another =
      !authorities.empty() && authorities != renewal.authorities && authorities != renewal.authorities_at_issue;
  return is_old || is_another;
}

}  // namespace longshore::identity
