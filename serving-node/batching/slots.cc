#include "serving-node/batching/slots.h"

#include <algorithm>

namespace longshore::batching {

bool Slots::State::HasRoom(bool for_background) const {
  return taken < (for_background ? std::max(1, limit - 1) : limit);
}

void Slots::State::Free(bool of_background) {
  taken -= 1;
  if (of_background) background -= 1;
}

template <typename Change>
bool Slots::Update(Change change) {
  State seen = state_.load();
  while (true) {
    State changed = seen;
    const bool result = change(changed);
    if (changed == seen || state_.compare_exchange_weak(seen, changed)) return result;
  }
}

void Slots::SetLimit(int limit) {
  Update([limit](State& state) {
    state.limit = static_cast<uint16_t>(limit);
    return true;
  });
}

int64_t Slots::running() const {
  const State state = state_.load();
  return state.taken - state.background;
}

bool Slots::IsOpen() const { return state_.load().is_open(); }

bool Slots::TakeIfNoneWaits() {
  return Update([](State& state) {
    if (!state.is_open()) return false;
    state.taken += 1;
    return true;
  });
}

bool Slots::TakeOrWait(bool background) {
  return Update([background](State& state) {
    if (!state.HasRoom(background)) {
      (background ? state.background_waits : state.user_waits) = true;
      return false;
    }
    state.taken += 1;
    if (background) state.background += 1;
    return true;
  });
}

bool Slots::FreeIfNoneWaits(bool background) {
  return Update([background](State& state) {
    State freed = state;
    freed.Free(background);
    if (freed.user_waits || (freed.background_waits && freed.HasRoom(true))) return false;
    state = freed;
    return true;
  });
}

void Slots::Free(bool background) {
  Update([background](State& state) {
    state.Free(background);
    return true;
  });
}

void Slots::SetNoneWaits() {
  Update([](State& state) {
    state.user_waits = false;
    state.background_waits = false;
    return true;
  });
}

bool Slots::WillBePassedOn() const {
  const State state = state_.load();
  return state.user_waits && !state.HasRoom();
}

}  // namespace longshore::batching
