// The list-then-watch protocol, which keeps a copy of a collection up to date, as a state machine.
//
//   list (page by page) ─► watch from the list's version ─► each event advances the version
//        ▲                     │  ended, failed or timed out: watch again from the newest version, after a pause if
//        │                     │  nothing was received
//        └───── 410 Gone ──────┘  only this lists the collection again
//
// Pure: given the result of a move, it returns the next move. Source of the protocol: "Efficient detection of changes"
// in the documentation of the Kubernetes API.
#pragma once

#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <variant>

#include "common/base/clock.h"

namespace longshore::kube {

// Read the next page of the list, or its first page if the token is empty.
struct ListPage {
  std::string continue_token;
};
// Watch the events after this version.
struct WatchFrom {
  std::string resource_version;
};
// Wait for `length`, then make the move `then`.
struct Pause {
  Duration length{0};
  std::variant<ListPage, WatchFrom> then;
};
using Move = std::variant<ListPage, WatchFrom, Pause>;

// Why a list or a watch failed.
struct Failure {
  bool gone = false;                    // 410: the version or the continue token is too old.
  std::optional<Duration> retry_after;  // The pause that the server asked for.
};

class ListWatch {
 public:
  static constexpr Duration kPauseMin = std::chrono::milliseconds(200);
  static constexpr Duration kPauseMax = std::chrono::seconds(30);

  // The seed makes the pauses of several machines differ.
  explicit ListWatch(uint64_t seed) : random_(seed) {}

  // The current move. Changes only with the calls below, which report its result.
  const Move& next() const { return next_; }

  // Reports the page that the move ListPage has read. A page without a token is the last one.
  void OnPage(const std::string& resource_version, const std::string& continue_token);
  void OnListFailed(const Failure& failure);
  // Reports an event or a bookmark that the move WatchFrom has received.
  void OnEvent(const std::string& resource_version);
  void OnWatchEnded();  // The server ended the watch normally.
  void OnWatchFailed(const Failure& failure);
  // Reports the end of a Pause.
  void OnPauseOver();

  int64_t lists() const { return lists_; }  // Number of lists that were started.

 private:
  void StartOrPause(std::variant<ListPage, WatchFrom> move, const Failure& failure, bool is_fruitless);

  std::mt19937_64 random_;
  Move next_ = ListPage{};
  std::string version_;         // The newest version that was received.
  bool has_progress_ = false;   // Whether the current watch received an event.
  int fruitless_attempts_ = 0;  // Consecutive attempts that received nothing.
  int64_t lists_ = 1;
};

}  // namespace longshore::kube
