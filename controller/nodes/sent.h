// The state that a node should hold after all sent messages. Contains digests instead of messages, so that it stays
// small for many nodes. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "longshore/control.pb.h"

namespace longshore::nodes {

// The part of the desired state that is the same on all nodes of a fleet.
struct FleetPart {
  control::FleetState state;
  std::string digest;
};
std::shared_ptr<const FleetPart> MakeFleetPart(control::FleetState state);

struct SentModel {
  std::string digest;              // Digest of the state of this model.
  std::vector<int64_t> answering;  // Versions that the node should load and that have weight.
  std::vector<int64_t> elsewhere;  // Those of them that are ready on some node, which may be this one.
};
std::shared_ptr<const SentModel> MakeSentModel(const control::ModelState& model);

struct Sent {
  int64_t epoch = 0;
  int64_t revision = 0;
  std::shared_ptr<const FleetPart> fleet;                          // Never null.
  std::map<std::string, std::shared_ptr<const SentModel>> models;  // The key is the served name.

  // The epoch and revision at which a model was last removed, by served name. Reports from before it are about a model
  // of this name that was deleted.
  std::map<std::string, std::pair<int64_t, int64_t>> removed;
  // The same for the last change of a model, which may be its removal.
  std::map<std::string, std::pair<int64_t, int64_t>> changed;

  // Returns "" if the node should not hold a model of this name.
  std::string DigestOfModel(const std::string& served_name) const;
};

// Applies a message to `sent`. DrainNode, Heartbeat and Certificate change nothing. `fleet` is used only for a snapshot
// and for a change of the fleet or its peers: the fleet part that the node holds after the message.
void ApplyMessage(const control::FromController& message, const std::shared_ptr<const FleetPart>& fleet, Sent& sent);

// Whether the report is from before the last removal of this model.
bool IsBeforeRemoval(const control::Report& report, const std::string& served_name, const Sent& sent);

// Whether the report is from after the last change of this model, so that the node routes requests by it.
bool IsAfterChange(const control::Report& report, const std::string& served_name, const Sent& sent);

// Forgets the changes and removals that the report shows to be done.
void ForgetDone(const control::Report& report, Sent& sent);

// Returns the digest that common/node_contract/state_digest.h defines.
std::string DigestOf(const Sent& sent);

}  // namespace longshore::nodes
