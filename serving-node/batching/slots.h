// The slots of a node: how many runs there are, how many there may be, and whether a request waits for a slot.
#pragma once

#include <atomic>
#include <cstdint>

namespace longshore::batching {

// Thread-safe without a lock, because the whole state is one atomic word. While no request waits for a slot, runs take
// and free slots with one change of this word each. A request that has to wait marks it. From then on the slots belong
// to the threads that hold the lock of the turns (scheduler.h): no other thread can take or free one.
class Slots {
 public:
  // Requires here and in SetLimit: 0 < limit <= 65535.
  explicit Slots(int limit) : state_(State{static_cast<uint16_t>(limit), 0, 0, 0}) {}

  // The number of runs may exceed a new lower limit until current runs end.
  void SetLimit(int limit);
  int limit() const { return state_.load().limit; }
  // Returns the number of taken slots, without those of background runs.
  int64_t running() const;
  bool all_free() const { return state_.load().taken == 0; }

  // Whether TakeIfNoneWaits would take a slot now.
  bool IsOpen() const;
  // Takes a slot if one is free and no request waits for a slot.
  bool TakeIfNoneWaits();
  // Takes a slot or, if none is free, marks that a request waits for one. A background run leaves one slot free if
  // there is more than one.
  bool TakeOrWait(bool background = false);

  // Frees a slot if no request waits for one; returns false, and frees nothing, otherwise.
  bool FreeIfNoneWaits(bool background);
  void Free(bool background);

  // Removes the mark.
  void SetNoneWaits();
  // Whether all slots are taken and a request waits for one: whoever frees a slot then looks for requests that wait.
  bool WillBePassedOn() const;

 private:
  struct State {
    uint16_t limit;
    uint16_t taken;
    uint16_t background;  // Part of `taken`.
    uint16_t one_waits;   // 0 or 1.
    bool is_full() const { return taken >= limit; }
    bool is_open() const { return one_waits == 0 && !is_full(); }
    friend bool operator==(const State&, const State&) = default;
  };
  static_assert(std::atomic<State>::is_always_lock_free);

  // Changes the state by `change`, which may be called several times, and returns its last result.
  template <typename Change>
  bool Update(Change change);

  std::atomic<State> state_;
};

}  // namespace longshore::batching
