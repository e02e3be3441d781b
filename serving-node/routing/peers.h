// The nodes of a fleet that can be reached: to forward to, and to ask about a model that this node knows nothing of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "longshore/control.pb.h"

namespace longshore::routing {

// A value.
class Peers {
 public:
  Peers() = default;
  // `node` is this one: it counts when homes are found, and is among no addresses.
  Peers(const control::FleetState& fleet, std::string node);

  // Of those of the nodes that can be reached, in their order.
  std::vector<std::string> AddressesOf(const google::protobuf::RepeatedPtrField<std::string>& nodes) const;

  // Of the homes of the model (common/fleet/homes.h), the nearest first.
  std::vector<std::string> HomesOf(std::string_view model) const;

 private:
  struct Peer {
    std::string node;
    std::string address;
  };
  std::string node_;
  std::vector<Peer> peers_;       // Ordered by name.
  std::vector<uint64_t> hashes_;  // Of their names.
};

}  // namespace longshore::routing
