#include "controller/decide/rollout/failure.h"

namespace longshore::rollout {
namespace {

constexpr const char* kLoadFailed = "LoadFailed";

const VersionSeen* SeenOn(const NodeSeen& node, int64_t version) {
  const auto found = node.versions.find(version);
  return found == node.versions.end() ? nullptr : &found->second;
}

}  // namespace

std::optional<Failure> FailureOn(const NodeSeen& node, int64_t version) {
  const VersionSeen* seen = SeenOn(node, version);
  if (seen == nullptr) return std::nullopt;
  const auto said = [&](const std::string& message) { return fmt::format("node {}: {}", node.name, message); };
  if (seen->guard) return Failure{seen->guard->reason, said(seen->guard->message), node.name};
  if (seen->golden && !seen->golden->ok) {
    return Failure{"GoldenSet",
                   said(fmt::format("{} of {} records passed: {}", seen->golden->passed, seen->golden->records,
                                    seen->golden->message)),
                   node.name};
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
