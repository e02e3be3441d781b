// The slots of a node: how many runs there are, how many there may be, and whether requests wait for a slot.
#pragma once

#include <atomic>
#include <cstdint>

namespace longshore::batching {

// Thread-safe without a lock, because the whole state is one atomic word. While no request waits for a slot, runs take
// and free slots with one change of this word each. A request that has to wait sets a mark:
//   - After a user's request, only threads that hold the lock of the turns (scheduler.h) can take or free a slot.
//   - After a background request, users' requests still take free slots without a lock. Only a run that ends needs the
//     lock of the turns, and only if it leaves enough slots free for the background request.
class Slots {
 public:
  // Requires here and in SetLimit: 0 < limit <= 65535.
  explicit Slots(int limit) : state_(State{static_cast<uint16_t>(limit), 0, 0, false, false}) {}

  // The number of runs may exceed a new lower limit until current runs end.
  void SetLimit(int limit);
  int limit() const { return state_.load().limit; }
  // Returns the number of taken slots, without those of background runs.
  int64_t running() const;
  bool all_free() const { return state_.load().taken == 0; }

  // Whether TakeIfNoneWaits would take a slot now.
  bool IsOpen() const;
  // Takes a slot for a user's request if one is free and no other user's request waits for a slot.
  bool TakeIfNoneWaits();
  // Takes a slot or, if none is free, sets the mark. A background run leaves one slot free if there is more than one.
  bool TakeOrWait(bool background = false);

  // Frees a slot if no request waits that may use it. Otherwise returns false and frees nothing: the caller then takes
  // the lock of the turns, calls Free and looks for requests that wait. `background`: whether the slot is that of a
  // background run.
  bool FreeIfNoneWaits(bool background);
  void Free(bool background);

  // Removes both marks.
  void SetNoneWaits();
  // Whether all slots are taken and a user's request waits for one. Then the next FreeIfNoneWaits returns false, and
  // its caller looks for requests that wait.
  bool WillBePassedOn() const;

 private:
  struct State {
    uint16_t limit;
    uint16_t taken;
    uint16_t background;  // Part of `taken`.
    bool user_waits;
    bool background_waits;
    bool HasRoom(bool for_background = false) const;  // Whether a slot is free for such a run.
    void Free(bool of_background);
    bool is_open() const { return !user_waits && HasRoom(); }
    friend bool operator==(const State&, const State&) = default;
  };
  static_assert(std::atomic<State>::is_always_lock_free);

  // Changes the state by `change`, which may be called several times, and returns its last result.
  template <typename Change>
  bool Update(Change change);

  std::atomic<State> state_;
};

}  // namespace longshore::batching
