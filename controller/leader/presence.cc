#include "controller/leader/presence.h"

#include <fmt/ranges.h>

#include "controller/api/units.h"

namespace longshore::leader {
namespace {

// How far the clock of a holder may be ahead for a single read to show that the holder is running.
constexpr Duration kClocksDifferMax = std::chrono::seconds(5);

}  // namespace

std::string NamespacesText(const std::vector<std::string>& namespaces) {
  return namespaces.empty() ? "*" : fmt::format("{}", fmt::join(namespaces, ","));
}

Result<LeaseSeen> LeaseSeenFrom(const Json& json) try {
  LeaseSeen lease;
  const Json& spec = json.at("spec");
  lease.holder = spec.value("holderIdentity", "");
  lease.duration = std::chrono::seconds(spec.value("leaseDurationSeconds", int64_t{0}));
  if (const auto renewed_at = api::ParseTime(spec.value("renewTime", ""))) lease.renewed_at = *renewed_at;
  lease.epoch = spec.value("leaseTransitions", int64_t{0});
  const Json metadata = json.value("metadata", Json::object());
  lease.namespaces = metadata.value("annotations", Json::object()).value(kNamespacesAnnotation, "");
  return lease;
} catch (const Json::exception& error) {  // A field is missing or has the wrong type.
  return DataLoss("not a valid Lease: {}", error.what());
}

std::string HostOfHolder(const std::string& holder) { return holder.substr(0, holder.rfind('_')); }

Life Presence::Saw(const std::optional<LeaseSeen>& lease, TimePoint now) {
  const TimePoint renewal = lease ? lease->renewed_at : TimePoint{};
  if (!since_ || renewal != renewal_) {
    has_changed_ = since_.has_value();
    since_ = now;
    renewal_ = renewal;
  }
  const Duration valid = lease ? lease->duration : Duration{0};
  const bool is_held = lease && !lease->holder.empty();
  const bool is_recent = now - renewal < valid && renewal - now < kClocksDifferMax;
  const bool was_renewed = has_changed_ && now - *since_ < valid;
  if (is_held && (is_recent || was_renewed)) return Life::kRunning;
  return now - *since_ >= kPatience ? Life::kAbsent : Life::kNotKnownYet;
}

}  // namespace longshore::leader
