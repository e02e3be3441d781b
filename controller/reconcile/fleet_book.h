// The known nodes of one fleet and what they report. Updates are incremental: if one of a thousand nodes sends a
// report, the cost is about that of one node. No I/O.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "controller/decide/rollout/rollout.h"
#include "controller/fleet/fleet.h"
#include "controller/nodes/nodes.h"
#include "controller/reconcile/observe.h"

namespace longshore::reconcile {

// What an update changed.
struct Changes {
  // Served names with a changed report. Evidence counts are ignored: while they matter, a Model is reconciled
  // periodically.
  std::set<std::string> models{};
  std::set<std::string> nodes{};           // Nodes that joined or left, or whose ability to get work changed.
  std::vector<nodes::ViewPtr> reported{};  // Views with a new report.
};

// Belongs to one thread.
class FleetBook {
 public:
  // how long a disconnected node keeps its last report, so that a node that restarts or reconnects does not cause
  // Models to move.
  explicit FleetBook(Duration reconnect_grace) : reconnect_grace_(reconnect_grace) {}

  // `machines`: the nodes of the fleet. Nodes that are not in it are removed at once.
  Changes Update(const std::vector<nodes::ViewPtr>& views, const std::vector<fleet::NodeInfo>& machines,
                 MonotonicPoint now);
  // When to call Update because the grace time of a disconnected node ends; nullopt if all are connected.
  std::optional<MonotonicPoint> grace_until() const;

  const std::map<std::string, KnownNode>& nodes() const { return nodes_; }
  // nullptr if the node is unknown.
  const KnownNode* Find(const std::string& node) const;
  // The nodes that are not draining and not leaving. The pointer changes only if the list does.
  const std::shared_ptr<const rollout::NodeNames>& staying() const { return staying_; }

  // The reports on a model, by node; nullptr if there are none. Valid until the next Update.
  struct ModelReports {
    std::vector<const control::VersionReport*> versions{};
    const control::SourceReport* source = nullptr;  // Set if the model comes from an archive source.
  };
  using ReportsByNode = std::map<std::string, ModelReports>;
  const ReportsByNode* ReportsFor(const std::string& served_name) const;

 private:
  // Hashes of the reports of one node, by served name.
  using ReportHashes = std::map<std::string, size_t>;

  void Take(const nodes::ViewPtr& view, bool leaving, Changes& changes);
  void TakeReport(const std::string& name, const KnownNode& node, Changes& changes);
  void RemoveReport(const std::string& name, const std::string& model, Changes& changes);
  void Forget(const std::string& name, Changes& changes);

  const Duration reconnect_grace_;
  std::map<std::string, KnownNode> nodes_;
  std::map<std::string, ReportHashes> hashes_;    // By node.
  std::map<std::string, ReportsByNode> reports_;  // By served name.
  std::shared_ptr<const rollout::NodeNames> staying_ = rollout::MakeNodeNames({});
};

}  // namespace longshore::reconcile
