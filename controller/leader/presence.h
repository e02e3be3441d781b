// Whether the holder of a Lease is running, for programs that only read the Lease. The holder renews it every few
// seconds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/json/json.h"

namespace longshore::leader {

inline constexpr const char* kLeaseName = "longshore-controller";  // In the namespace of the controllers.

// The annotation of the Lease with the namespaces that its holder watches: "longshore,vision"; "*" for all.
inline constexpr const char* kNamespacesAnnotation = "longshore.dev/watched-namespaces";
// Returns the annotation's text. `namespaces`: empty for all.
std::string NamespacesText(const std::vector<std::string>& namespaces);

// The fields of a Lease (coordination.k8s.io/v1) that show whether its holder is running, and what it watches.
struct LeaseSeen {
  std::string holder;      // "" if the last holder has released the Lease.
  Duration duration{0};    // How long the Lease is valid after it was renewed.
  TimePoint renewed_at{};  // Read from the clock of the holder.
  int64_t epoch = 0;       // Of the newest term; 0 if none has held the Lease.
  // The annotation above; "" if the holder is of release 0.1 or none has held the Lease.
  std::string namespaces{};
};

// Returns DataLoss if the JSON is not a Lease. Fields that are missing keep their defaults.
Result<LeaseSeen> LeaseSeenFrom(const Json& json);

// Returns the host of the holder, on a cluster the name of its pod: "longshore-0" for "longshore-0_1f2e". "" if the
// Lease has no holder.
std::string HostOfHolder(const std::string& holder);

enum class Life { kNotKnownYet, kRunning, kAbsent };

// Decides from the reads of a Lease whether its holder is running. A renewal that looks old may only show that two
// clocks differ, so it takes some seconds without a newer renewal until the holder counts as absent.
class Presence {
 public:
  // How long a holder that seems absent may take to renew the Lease, and another one to take it over: longer than
  // Options::retry_period.
  static constexpr Duration kPatience = std::chrono::milliseconds(2500);

  // `lease`: nullopt if the Lease does not exist.
  Life Saw(const std::optional<LeaseSeen>& lease, TimePoint now);

 private:
  std::optional<TimePoint> since_;  // When the newest renewal was read first.
  TimePoint renewal_{};             // The newest renewal.
  bool has_changed_ = false;        // Whether the Lease was renewed after the first read.
};

}  // namespace longshore::leader
