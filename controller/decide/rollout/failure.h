// What one node reports against a version: a failure, or a lack of memory. Internal to rollout/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controller/decide/rollout/types.h"

namespace longshore::rollout {

// The reason of a version that did not fit into the memory of enough nodes.
inline constexpr const char* kNotEnoughMemory = "NotEnoughMemory";
// The reason of a version that crashed the process of a node or of its rehearsal.
inline constexpr const char* kCrashed = "Crashed";
// The key in Verdict::numbers under which a rollback for this reason stores how many nodes reported it.
inline constexpr const char* kNodesWithoutMemory = "nodesWithoutMemory";

// Why a version is not served by one node.
struct Failure {
  std::string reason;
  std::string message;  // Contains the name of the node.
  std::string node{};
};

// The failure that a node reports about a version. A lack of memory is not one: see MemoryLackOn.
std::optional<Failure> FailureOn(const NodeSeen& node, int64_t version);
// Set if the version does not fit into the memory of the node now.
std::optional<Failure> MemoryLackOn(const NodeSeen& node, int64_t version);

// Whether the cause of the failure may be the node and not the version.
bool MayBeDueToTheNode(const Failure& failure);
// Whether the node should not be chosen for the version: it failed there, crashed there, or lacks memory.
bool CannotHold(const NodeSeen& node, int64_t version);

}  // namespace longshore::rollout
