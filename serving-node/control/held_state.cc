#include "serving-node/control/held_state.h"

#include "common/os/file.h"
#include "serving-node/control/apply.h"
#include "serving-node/control/desired.h"

namespace longshore::control {

Status HeldState::ReadDisk() {
  const std::lock_guard one(change_mutex_);
  const auto bytes = ReadFile(file_);
  if (!bytes && bytes.error().code == Code::kNotFound) return {};
  if (!bytes) return tl::make_unexpected(bytes.error());
  auto loaded = std::make_shared<DesiredState>();
  if (!loaded->ParseFromString(*bytes)) return DataLoss("{} does not contain a valid desired state", file_.string());
  if (loaded->fleet().fleet() != fleet_) {
    return FailedPrecondition("{} belongs to fleet {}, not to fleet {}", file_.string(), loaded->fleet().fleet(),
                              fleet_);
  }
  ApplyAndHold(std::move(loaded));
  return {};
}

Status HeldState::Receive(const FromController& message) {
  const std::lock_guard one(change_mutex_);
  const auto held = get();
  ASSIGN_OR_RETURN(DesiredState next, ApplyMessage(held ? std::optional(*held) : std::nullopt, message, fleet_));
  return WriteAndApply(std::move(next));
}

Status HeldState::Adopt(const DesiredState& of_peer) {
  const std::lock_guard one(change_mutex_);
  if (get() != nullptr) return {};
  ASSIGN_OR_RETURN(DesiredState next, FromPeer(of_peer, fleet_));
  return WriteAndApply(std::move(next));
}

void HeldState::ApplyAgain() {
  const std::lock_guard one(change_mutex_);
  if (const auto held = get()) Apply(held, held.get(), deps_);
}

std::shared_ptr<const DesiredState> HeldState::get() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

Status HeldState::WriteAndApply(DesiredState next) {
  const Status written = WriteFileAtomically(file_, next.SerializeAsString());
  deps_.desired_state_health.Report(written);
  if (!written) return Prefixed(written.error(), "cannot write the desired state");
  ApplyAndHold(std::make_shared<const DesiredState>(std::move(next)));
  return {};
}

void HeldState::ApplyAndHold(std::shared_ptr<const DesiredState> next) {
  // Applies the state before get() returns it, because a report with the new revision must describe a node that has
  // applied it.
  Apply(next, get().get(), deps_);
  const std::lock_guard lock(mutex_);
  state_ = std::move(next);
}

}  // namespace longshore::control
