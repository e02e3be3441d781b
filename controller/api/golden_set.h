// What a Model's status says about runs of the golden set while a version serves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"

namespace longshore::api {

inline constexpr size_t kGoldenNodesMax = 100;  // Maximum number of nodes in each list.

// A repeated run of the golden set that failed on a node. Kept until the node runs it again, also if the node or the
// controller restarts.
struct GoldenFailure {
  std::string node;
  TimePoint at{};           // When the run ended, by the clock of the node.
  bool unreadable = false;  // Whether the file could not be read.
  std::string message{};
  TimePoint gone_since{};  // Since when the node does not have the version ready; TimePoint{}: it has it ready.

  friend bool operator==(const GoldenFailure&, const GoldenFailure&) = default;
};

enum class GoldenRunState { kWaiting, kPassed, kFailed };
std::string_view GoldenRunStateName(GoldenRunState state);

struct GoldenRun {
  std::string node;
  GoldenRunState state = GoldenRunState::kWaiting;
  std::string message{};

  friend bool operator==(const GoldenRun&, const GoldenRun&) = default;
};

// The run of the golden set that the command `validate` last asked for.
struct GoldenRequest {
  std::string id;       // Of the command.
  TimePoint at{};       // When the controller executed the command.
  bool ended = false;   // If not, nodes are asked for the run.
  int64_t waiting = 0;  // The number of nodes in each state.
  int64_t passed = 0;
  int64_t failed = 0;
  std::vector<GoldenRun>
      nodes{};  // At most kGoldenNodesMax: first failed ones, then waiting ones, then those that passed.

  friend bool operator==(const GoldenRequest&, const GoldenRequest&) = default;
};

// What is known about the runs of the golden set of one version while it is stable.
struct GoldenSetStatus {
  int64_t version = 0;     // 0: nothing is known.
  std::string settings{};  // A digest of the fields of the spec that decide how the golden set is judged.
  // A time at or after which the last run ended on any node; before the first run, when the controller first expected
  // one. It is written at most once per interval and per 10 minutes.
  TimePoint last_run{};
  std::vector<GoldenFailure> failures{};  // At most kGoldenNodesMax, ordered by node.
  std::optional<GoldenRequest> request{};

  friend bool operator==(const GoldenSetStatus&, const GoldenSetStatus&) = default;
};

}  // namespace longshore::api
