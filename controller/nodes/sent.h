// What a node should hold after all that was sent to it, as much as is needed to see what is missing: digests in place
// of messages, so that it is small where there are many nodes. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "longshore/control.pb.h"

namespace longshore::nodes {

// What all nodes of a fleet hold alike.
struct FleetPart {
  control::FleetState state;
  std::string digest;
};
std::shared_ptr<const FleetPart> MakeFleetPart(control::FleetState state);

struct SentModel {
  std::string digest;              // Of the state of this model.
  std::vector<int64_t> answering;  // Versions that the node should load and that have weight.
};
std::shared_ptr<const SentModel> MakeSentModel(const control::ModelState& model);

struct Sent {
  int64_t epoch = 0;
  int64_t revision = 0;
  std::shared_ptr<const FleetPart> fleet;                          // There.
  std::map<std::string, std::shared_ptr<const SentModel>> models;  // By served name.

  // "" when it holds none of this name.
  std::string DigestOfModel(const std::string& served_name) const;
};

// A DrainNode, a Heartbeat and a Certificate change nothing. `fleet`: what the node holds of it after a snapshot or a
// change of the fleet or its peers; unused for other messages.
void ApplyMessage(const control::FromController& message, const std::shared_ptr<const FleetPart>& fleet, Sent& sent);

// As common/fleet/state_digest.h has it.
std::string DigestOf(const Sent& sent);

}  // namespace longshore::nodes
