// The known nodes of one fleet and what they report. Updates are incremental: only the reports that are new are read,
// so the cost depends little on the size of the fleet. No I/O.
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

// What a call of Update changed.
struct Changes {
  // Served names whose reports changed. A change of only the evidence counts is ignored, because a Model whose decision
  // needs evidence is reconciled periodically anyway.
  std::set<std::string> models{};
  std::set<std::string> nodes{};  // Nodes that joined, left, or changed connection, draining, address or release.
  std::vector<nodes::ViewPtr> reported{};  // Views of the nodes that sent a new report.
};

// Not thread-safe.
class FleetBook {
 public:
  // `reconnect_grace`: how long a disconnected node keeps its last report, so that a node that restarts or reconnects
  // does not cause Models to move.
  explicit FleetBook(Duration reconnect_grace) : reconnect_grace_(reconnect_grace) {}

  // `node_infos`: the nodes of the fleet. Nodes that are not in `node_infos` are removed at once.
  Changes Update(const std::vector<nodes::ViewPtr>& views, const std::vector<fleet::NodeInfo>& node_infos,
                 MonotonicPoint now);
  // Sets which nodes are to be stopped once other nodes have their versions. Returns the nodes for which this changed.
  std::set<std::string> SetDeparting(std::set<std::string> nodes);
  // Returns the earliest end of the grace time of a disconnected node, when Update must be called; nullopt if all are
  // connected.
  std::optional<MonotonicPoint> grace_until() const;

  const std::map<std::string, KnownNode>& nodes() const { return nodes_; }
  // Returns nullptr if the node is unknown.
  const KnownNode* Find(const std::string& node) const;
  // Returns the nodes that are not draining, leaving or departing. The pointer changes only if the list does.
  const std::shared_ptr<const rollout::NodeNames>& staying() const { return staying_; }

  struct ModelReports {
    std::vector<const control::VersionReport*> versions{};
    const control::SourceReport* source = nullptr;  // Set for an archive, and for a folder with a problem.
    const control::RulesReport* rules = nullptr;    // Set if match rules of the model do not work on the node.
  };
  // What the report says about the model; refers to the report.
  static ModelReports ReportsIn(const control::Report& report, const std::string& served_name);
  using ReportsByNode = std::map<std::string, ModelReports>;
  // Returns the reports on a model, by node; nullptr if there are none. Valid until the next Update.
  const ReportsByNode* ReportsFor(const std::string& served_name) const;

 private:
  // Hashes of the reports of one node, by served name.
  using ReportHashes = std::map<std::string, size_t>;

  void Take(const nodes::ViewPtr& view, bool leaving, Changes& changes);
  void TakeReport(const std::string& name, const KnownNode& node, Changes& changes);
  void RemoveReport(const std::string& name, const std::string& model, Changes& changes);
  void Forget(const std::string& name, Changes& changes);
  void UpdateStaying();

  const Duration reconnect_grace_;
  std::map<std::string, KnownNode> nodes_;
  std::set<std::string> departing_;
  std::map<std::string, ReportHashes> hashes_;    // Key: node.
  std::map<std::string, ReportsByNode> reports_;  // Key: served name.
  std::shared_ptr<const rollout::NodeNames> staying_ = rollout::MakeNodeNames({});
};

}  // namespace longshore::reconcile
