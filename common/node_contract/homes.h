// Chooses the home nodes of a model.
//
// In a fleet of many nodes, a node gets the state only of the models that it holds or is a home node of. So the traffic
// grows with the number of nodes per model and not with the size of the fleet. A node without the model forwards a
// request to one of the model's home nodes. Controller and nodes compute the home nodes from the names of the model and
// the nodes by rendezvous hashing (Thaler and Ravishankar, 1998): when a node joins or leaves, only the models nearest
// to it get other home nodes. docs/assignment.md has test vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longshore::node_contract {

inline constexpr size_t kHomesMax = 3;

// The 64-bit FNV-1a hash of a name.
uint64_t HashOfName(std::string_view name);

// How near a node is to a model: a higher value means nearer. The arguments are hashes of names.
uint64_t Nearness(uint64_t node, uint64_t model);

// Returns the indices in `nodes` of the nodes nearest to the model, at most nodes_max, nearest first. `nodes` and
// `model` are hashes of names. Equally near nodes keep the order of `nodes`.
std::vector<size_t> Nearest(const std::vector<uint64_t>& nodes, uint64_t model, size_t nodes_max);

}  // namespace longshore::node_contract
