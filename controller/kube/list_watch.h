// List, then watch: the protocol by which a copy of a collection is kept, as a state machine.
//
//   list (page by page) ─► watch from the list's version ─► events move the version on
//        ▲                     │  ended, failed, silent: watch again from the newest version, after a pause if in vain
//        └───── 410 Gone ──────┘  only then is the collection listed again
//
// Pure: told what came, it says what to do next. The source of the protocol is the Kubernetes API's "Efficient
// detection of changes".
#pragma once

#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <variant>

#include "common/clock.h"

namespace longshore::kube {

// The next page of the list; from its beginning when the token is empty.
struct ListPage {
  std::string continue_token;
};
// Events after this version.
struct WatchFrom {
  std::string resource_version;
};
// Nothing for so long; then `then`.
struct Pause {
  Duration length{0};
  std::variant<ListPage, WatchFrom> then;
};
using Move = std::variant<ListPage, WatchFrom, Pause>;

// Why a list or a watch came to nothing.
struct Failure {
  bool gone = false;                    // 410: the version, or the token, is too old.
  std::optional<Duration> retry_after;  // What the server asks for.
};

class ListWatch {
 public:
  static constexpr Duration kPauseMin = std::chrono::milliseconds(200);
  static constexpr Duration kPauseMax = std::chrono::seconds(30);

  // The seed spreads the pauses of many.
  explicit ListWatch(uint64_t seed) : random_(seed) {}

  // The same until something came.
  const Move& next() const { return next_; }

  // Of a list. A page without a token is the last one.
  void OnPage(const std::string& resource_version, const std::string& continue_token);
  void OnListFailed(const Failure& failure);
  // Of a watch. An event, or a bookmark.
  void OnEvent(const std::string& resource_version);
  void OnWatchEnded();  // In order, by the server.
  void OnWatchFailed(const Failure& failure);
  // After a pause.
  void OnPauseOver();

  int64_t lists() const { return lists_; }  // Begun.

 private:
  void Begin(std::variant<ListPage, WatchFrom> move, const Failure& failure, bool in_vain);

  std::mt19937_64 random_;
  Move next_ = ListPage{};
  std::string version_;  // The newest that was heard of.
  bool heard_ = false;   // Something came of what we do now.
  int vain_ = 0;         // Tries in a row of which nothing came.
  int64_t lists_ = 1;
};

}  // namespace longshore::kube
