// Who knows of a model in a fleet of many nodes: the nodes that hold it, and its homes.
//
// A node hears only of the models that it holds or is a home of, so that what travels grows with a model's nodes and
// not with the fleet. Who is asked for another model asks one of its homes, which controller and nodes find alike by
// the names of model and nodes: rendezvous hashing (Thaler and Ravishankar, 1998), so that a node that comes or goes
// moves only what is nearest to it. docs/assignment.md has vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longshore {

inline constexpr size_t kHomesMax = 3;

// FNV-1a, 64 bits.
uint64_t HashOfName(std::string_view name);

// How near a node is to a model, of the hashes of their names: the highest is the nearest.
uint64_t Nearness(uint64_t node, uint64_t model);

// Indices into `nodes` (hashes of names), nearest first, at most so many. Equal ones in the order of the list.
std::vector<size_t> Nearest(const std::vector<uint64_t>& nodes, uint64_t model, size_t nodes_max);

}  // namespace longshore
