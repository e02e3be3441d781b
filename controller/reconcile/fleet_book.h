// What is known of the nodes of one fleet, kept up to date by what changed: a fleet of a thousand nodes, of which one
// reports something, costs little more than that one. Pure, but for the memory of what was heard.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/fleet/fleet.h"
#include "controller/nodes/nodes.h"
#include "controller/reconcile/observe.h"
#include "controller/rollout/rollout.h"

namespace longshore::reconcile {

// Since the last update.
struct News {
  std::set<std::string> models{};          // Served names of which a node says something else. Counts of evidence are
                                           // none: while they matter, a model is looked at by the clock.
  std::set<std::string> nodes{};           // Came, went, or can be given work no more, or again.
  std::vector<nodes::ViewPtr> reported{};  // With a report not seen before.
};

// Belongs to one thread.
class FleetBook {
 public:
  // `patience`: so long a node whose stream ended is known with what it said last, so that one that is restarted, or
  // dials again, does not make every model move.
  explicit FleetBook(Duration patience) : patience_(patience) {}

  // `machines`: the nodes that the fleet has. One that it has not is forgotten at once.
  News Update(const std::vector<nodes::ViewPtr>& views, const std::vector<fleet::NodeInfo>& machines,
              MonotonicPoint now);
  // When an update is due for a node whose stream has ended; nullopt: for none.
  std::optional<MonotonicPoint> patient_until() const;

  const std::map<std::string, KnownNode>& nodes() const { return nodes_; }
  // Null when it is not known.
  const KnownNode* Find(const std::string& node) const;
  // Those that can be given work for longer: not draining, not told to leave. Another one when it changes.
  const std::shared_ptr<const rollout::NodeNames>& staying() const { return staying_; }

  // What the nodes report of a model, by node; null: nothing. As long as the book is not updated.
  struct Said {
    std::vector<const control::VersionReport*> versions{};
    const control::SourceReport* source = nullptr;  // Of a model that comes from an archive.
  };
  using Words = std::map<std::string, Said>;
  const Words* WordsOf(const std::string& served_name) const;

 private:
  // Of one node, by served name.
  using Heard = std::map<std::string, size_t>;

  void Take(const nodes::ViewPtr& view, bool leaving, News& news);
  void Hear(const std::string& name, const KnownNode& node, News& news);
  void Unsay(const std::string& name, const std::string& model, News& news);
  void Forget(const std::string& name, News& news);

  const Duration patience_;
  std::map<std::string, KnownNode> nodes_;
  std::map<std::string, Heard> heard_;  // Hashes of what each node said.
  std::map<std::string, Words> words_;  // By served name.
  std::shared_ptr<const rollout::NodeNames> staying_ = rollout::MakeNodeNames({});
};

}  // namespace longshore::reconcile
