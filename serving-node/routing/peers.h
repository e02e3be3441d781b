// The addresses of the other nodes of a fleet: the holders to forward to, and the home nodes to ask about a model that
// this node does not know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "longshore/control.pb.h"

namespace longshore::routing {

// Immutable after construction.
class Peers {
 public:
  Peers() = default;
  // `node` is the name of this node. This node takes part in the choice of home nodes, but its address is never
  // returned.
  Peers(const control::FleetState& fleet, std::string node);

  // Returns the addresses of `nodes` in the same order, without nodes that have no address.
  std::vector<std::string> AddressesOf(const google::protobuf::RepeatedPtrField<std::string>& nodes) const;

  // Returns the addresses of the home nodes of the model, the nearest first. common/node_contract/homes.h defines home
  // nodes and nearness.
  std::vector<std::string> HomesOf(std::string_view model) const;

 private:
  struct Peer {
    std::string node;
    std::string address;
  };
  std::string node_;
  std::vector<Peer> peers_;       // Sorted by node name.
  std::vector<uint64_t> hashes_;  // The hashes of the node names, in the order of peers_.
};

}  // namespace longshore::routing
