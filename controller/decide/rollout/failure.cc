#include "controller/decide/rollout/failure.h"

#include <utility>

#include "common/node_contract/rehearsal.h"

namespace longshore::rollout {
namespace {

constexpr const char* kLoadFailed = "LoadFailed";

const VersionSeen* SeenOn(const NodeSeen& node, int64_t version) {
  const auto found = node.versions.find(version);
  return found == node.versions.end() ? nullptr : &found->second;
}

// The reason and the message of a rehearsal that has failed. It compares the signatures before it runs the golden set.
std::pair<std::string, std::string> RehearsalFailure(const GoldenSeen& golden) {
  const std::string changed = std::string(node_contract::kSignatureChanged) + ": ";
  if (golden.message.starts_with(changed))
    return {node_contract::kSignatureChanged, golden.message.substr(changed.size())};
  if (golden.records == 0) return {"GoldenSet", golden.message};
  return {"GoldenSet", fmt::format("{} of {} records passed: {}", golden.passed, golden.records, golden.message)};
}

}  // namespace

std::optional<Failure> FailureOn(const NodeSeen& node, int64_t version) {
  const VersionSeen* seen = SeenOn(node, version);
  if (seen == nullptr) return std::nullopt;
  const auto said = [&](const std::string& message) { return fmt::format("node {}: {}", node.name, message); };
  if (seen->guard) return Failure{seen->guard->reason, said(seen->guard->message), node.name};
  if (seen->golden && !seen->golden->ok) {
    const auto [reason, message] = RehearsalFailure(*seen->golden);
    return Failure{reason, said(message), node.name};
  }
  if (seen->state == NodeState::kFailed) return Failure{kLoadFailed, said(seen->message), node.name};
  if (seen->state == NodeState::kQuarantined) return Failure{kCrashed, said(seen->message), node.name};
  return std::nullopt;
}

std::optional<Failure> MemoryLackOn(const NodeSeen& node, int64_t version) {
  const VersionSeen* seen = SeenOn(node, version);
  if (seen == nullptr || seen->state != NodeState::kNoMemory) return std::nullopt;
  const MemorySeen& memory = seen->memory;
  const std::string room = memory.by_own_limit
                               ? fmt::format("rollout.shadow.memoryMax allows {} bytes", memory.free_bytes)
                               : fmt::format("{} bytes are free", memory.free_bytes);
  return Failure{kNotEnoughMemory,
                 fmt::format("node {}: version {} needs {} bytes of memory, and {}", node.name, version,
                             memory.needed_bytes, room),
                 node.name};
}

bool MayBeDueToTheNode(const Failure& failure) { return failure.reason == kLoadFailed || failure.reason == kCrashed; }

bool CannotHold(const NodeSeen& node, int64_t version) {
  const VersionSeen* seen = SeenOn(node, version);
  return seen != nullptr && (seen->state == NodeState::kFailed || seen->state == NodeState::kQuarantined ||
                             seen->state == NodeState::kNoMemory);
}

}  // namespace longshore::rollout
