// Whether an object is as its manifest says: for a glance, and for scripts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/api/types.h"

namespace longshore::cli {

// kFailed: it does not get there without help.
enum class Standing { kAsWanted, kUnderWay, kFailed };

struct Report {
  Standing standing = Standing::kAsWanted;
  std::string why;  // Without any time in it: it changes when something happened.
};

// What a manifest file says beside the objects in the store. Never kAsWanted.
struct ManifestReport {
  std::string file;
  bool is_read = true;  // By the controller. When it is not, the status of its objects says nothing about its text.
  Report report;
};

// The state of a host: its controller and its manifest files. The default for a cluster, about which this is not known.
struct HostSeen {
  int64_t epoch = 0;  // Statuses below it are an earlier controller's.
  std::vector<ManifestReport> manifests{};
  std::map<api::Key, size_t> manifest_of{};  // The one of `manifests` that says something about the object.
};

Report ReportOf(const api::Model& model, const HostSeen& seen = {});
Report ReportOf(const api::ServingFleet& fleet, const HostSeen& seen = {});

// Failed when any is, under way when any is.
Standing StandingOf(const std::vector<api::ServingFleet>& fleets, const std::vector<api::Model>& models,
                    const HostSeen& seen = {});

// One row per object, and one for each manifest that says something else.
std::string StatusTable(const std::vector<api::ServingFleet>& fleets, const std::vector<api::Model>& models,
                        const HostSeen& seen = {});
// One model in some lines.
std::string StatusOfModel(const api::Model& model, TimePoint now, const HostSeen& seen = {});

}  // namespace longshore::cli
