// Which models the nodes of a fleet have news of, so that a report leads to looks at those only. Pure, but for the
// memory of what was heard last.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/reconcile/observe.h"

namespace longshore::reconcile {

struct News {
  bool of_all = false;                // A node came, went, or may be told other things than before.
  std::set<std::string> of_models{};  // Served names of which a node says something new.
};

// Belongs to one thread.
class NewsBook {
 public:
  // What is new since the last call. Counts of evidence are none: while they matter, a model is looked at by the clock.
  News Take(const std::string& fleet, const std::vector<KnownNode>& nodes, const std::set<std::string>& leaving);

  void Forget(const std::string& fleet) { fleets_.erase(fleet); }

 private:
  struct Heard {
    std::string standing;                      // What concerns all models.
    std::map<std::string, std::string> words;  // By served name.
  };
  static Heard HeardOf(const KnownNode& node, bool leaving);

  std::map<std::string, std::map<std::string, Heard>> fleets_;  // By fleet and node.
};

}  // namespace longshore::reconcile
