#include "serving-node/batching/slots.h"

#include <algorithm>

namespace longshore::batching {

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
    const int limit = background ? std::max(1, state.limit - 1) : state.limit;
    if (state.taken >= limit) {
      state.one_waits = 1;
      return false;
    }
    state.taken += 1;
    if (background) state.background += 1;
    return true;
  });
}

bool Slots::FreeIfNoneWaits(bool background) {
  return Update([background](State& state) {
    if (state.one_waits != 0) return false;
    state.taken -= 1;
    if (background) state.background -= 1;
    return true;
  });
}

void Slots::Free(bool background) {
  Update([background](State& state) {
    state.taken -= 1;
    if (background) state.background -= 1;
    return true;
  });
}

void Slots::SetNoneWaits() {
  Update([](State& state) {
    state.one_waits = 0;
    return true;
  });
}

bool Slots::WillBePassedOn() const {
  const State state = state_.load();
  return state.one_waits != 0 && state.is_full();
}

}  // namespace longshore::batching
