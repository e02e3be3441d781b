#include "controller/leader/presence.h"

#include "controller/api/units.h"

namespace longshore::leader {

Result<LeaseSeen> LeaseSeenFrom(const Json& json) try {
  LeaseSeen lease;
  const Json& spec = json.at("spec");
  lease.holder = spec.value("holderIdentity", "");
  lease.duration = std::chrono::seconds(spec.value("leaseDurationSeconds", int64_t{0}));
  if (const auto renewed_at = api::ParseTime(spec.value("renewTime", ""))) lease.renewed_at = *renewed_at;
  return lease;
} catch (const Json::exception& error) {  // A field is missing or has the wrong type.
  return DataLoss("not a valid Lease: {}", error.what());
}

Life Presence::Saw(const std::optional<LeaseSeen>& lease, TimePoint now) {
  const TimePoint renewal = lease ? lease->renewed_at : TimePoint{};
  if (!begin_) {
    begin_ = now;
    first_renewal_ = renewal;
  }
  const bool is_held = lease && !lease->holder.empty();
  const bool is_recent = now - renewal < (lease ? lease->duration : Duration{0}) && renewal - now < kPatience;
  if (is_held && (is_recent || renewal != first_renewal_)) return Life::kRunning;
  return now - *begin_ >= kPatience ? Life::kAbsent : Life::kNotKnownYet;
}

}  // namespace longshore::leader
