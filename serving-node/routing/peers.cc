#include "serving-node/routing/peers.h"

#include <algorithm>
#include <utility>

#include "common/node_contract/homes.h"

namespace longshore::routing {

Peers::Peers(const control::FleetState& fleet, std::string node) : node_(std::move(node)) {
  peers_.reserve(static_cast<size_t>(fleet.peers_size()));
  for (const control::Peer& peer : fleet.peers()) {
    if (!peer.address().empty()) peers_.push_back({peer.node(), peer.address()});
  }
  std::ranges::sort(peers_, {}, &Peer::node);
  hashes_.reserve(peers_.size());
  for (const Peer& peer : peers_) hashes_.push_back(node_contract::HashOfName(peer.node));
}

std::vector<std::string> Peers::AddressesOf(const google::protobuf::RepeatedPtrField<std::string>& nodes) const {
  std::vector<std::string> addresses;
  for (const std::string& node : nodes) {
    const auto found = std::ranges::lower_bound(peers_, node, {}, &Peer::node);
    if (found != peers_.end() && found->node == node && node != node_) addresses.push_back(found->address);
  }
  return addresses;
}

std::vector<std::string> Peers::HomesOf(std::string_view model) const {
  std::vector<std::string> addresses;
  for (const size_t i : node_contract::Nearest(hashes_, node_contract::HashOfName(model), node_contract::kHomesMax)) {
    if (peers_[i].node != node_) addresses.push_back(peers_[i].address);
  }
  return addresses;
}

}  // namespace longshore::routing
