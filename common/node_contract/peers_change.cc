#include "common/node_contract/peers_change.h"

#include <algorithm>
#include <set>
#include <string>

namespace longshore::node_contract {

Status ApplyPeers(const control::PeersChange& change, control::FleetState* fleet) {
  std::set<std::string> names(change.left().begin(), change.left().end());
  for (const control::Peer& peer : change.set()) {
    if (peer.node().empty()) return InvalidArgument("a peer has no name");
    if (!names.insert(peer.node()).second) return InvalidArgument("the peer {} is in a change twice", peer.node());
  }
  auto& peers = *fleet->mutable_peers();
  const auto changed = [&names](const control::Peer& peer) { return names.contains(peer.node()); };
  peers.erase(std::remove_if(peers.begin(), peers.end(), changed), peers.end());
  peers.MergeFrom(change.set());
  std::ranges::sort(peers, {}, &control::Peer::node);
  return {};
}

}  // namespace longshore::node_contract
