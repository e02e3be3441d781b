// A summary of an object's state in one word, for people and scripts: the object is as its manifest says, is still
// being changed to that state, or has failed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::cli::text {

// kFailed: the object does not reach its wanted state until a user intervenes.
enum class Standing { kAsWanted, kUnderWay, kFailed };
// Returns "as wanted", "under way" or "failed".
const char* StandingName(Standing standing);

struct Report {
  Standing standing = Standing::kAsWanted;
  std::string why;  // Contains no times, so that it changes only when the state changes.
  // kFailed: whether the controller tries again by itself, so that the failure may be over soon: a port may become
  // free, or a file may still be on its way.
  bool is_retried = false;
};

// The report about a manifest file whose current content has not been applied, or which defines no object (kAsWanted).
struct ManifestReport {
  std::string file;
  // Whether the controller has read the current content. If not, the statuses of the file's objects are about an older
  // content.
  bool is_read = true;
  Report report;
};

// What was seen beside an object: its controller, and on a host its manifest files.
struct HostSeen {
  bool is_host = false;  // Whether the objects are on a host, whose controller watches all namespaces.
  // The epoch of the running controller; statuses with a lower epoch were written by an earlier controller.
  int64_t epoch = 0;
  std::vector<ManifestReport> manifests{};
  std::map<api::Key, size_t> manifest_of{};  // Object -> index in `manifests` of the report about its manifest.
  // The fleets that exist, as the status of each of their Models must have observed them; without uid: the fleet cannot
  // be read. nullopt: they were not read.
  std::optional<std::map<api::Key, api::ObservedFleet>> fleets{};
};

Report ReportOf(const api::Model& model, const HostSeen& seen = {});
Report ReportOf(const api::ServingFleet& fleet, const HostSeen& seen = {});

// Returns the worst standing: kFailed if any object or manifest has failed, else kUnderWay if any is under way.
Standing StandingOf(const std::vector<api::ServingFleet>& fleets, const std::vector<api::Model>& models,
                    const HostSeen& seen = {});

// Whether an object or manifest has failed and the controller does not try again.
bool HasFailedForGood(const std::vector<api::ServingFleet>& fleets, const std::vector<api::Model>& models,
                      const HostSeen& seen = {});

// A table with one row per report about a manifest, then one row per object.
std::string StatusTable(const std::vector<api::ServingFleet>& fleets, const std::vector<api::Model>& models,
                        const HostSeen& seen = {});
// A few lines about one model.
std::string StatusOfModel(const api::Model& model, TimePoint now, const HostSeen& seen = {});

}  // namespace longshore::cli::text
