// Recordings for tests.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "serving-node/observe/profiling/recording.h"

namespace longshore::profiling {

inline constexpr std::chrono::steady_clock::time_point kBegan{std::chrono::hours(1)};

// A run that begins `after` the start of the recording: a loop with one step, then a convolution.
inline std::shared_ptr<RecordedRun> LoopRun(std::chrono::microseconds after, int64_t version = 2) {
  using std::chrono::microseconds;
  using std::chrono::nanoseconds;
  auto run = std::make_shared<RecordedRun>(RecordedRun{.model = "digits", .version = version, .run = {}});
  run->run.signature = "serving_default";
  run->run.inputs = "image DT_FLOAT [2,8,8,1]";
  run->run.requests = 1;
  engine::RunProfile& profile = run->run.profile;
  profile.began = kBegan + after;
  profile.took = microseconds(100);
  profile.plan = microseconds(5);
  profile.bytes_peak = 3000;
  profile.nodes = {{.node = "body/add",
                    .op = "AddV2",
                    .how = "loops",
                    .output = "DT_INT32 []",
                    .took = microseconds(3),
                    .began = microseconds(12),
                    .ended = microseconds(15),
                    .bytes = 4,
                    .held_bytes = 1000},
                   {.node = "loop",
                    .op = "While",
                    .how = "kernel",
                    .output = "DT_INT32 []",
                    .took = microseconds(7),
                    .began = microseconds(10),
                    .ended = microseconds(20),
                    .bytes = 4,
                    .held_bytes = 1000},
                   {.node = "conv",
                    .op = "Conv2D",
                    .then = "BiasAdd, Relu",
                    .how = "onednn jit:avx2",
                    .output = "DT_FLOAT [2,8,8,24]",
                    .took = nanoseconds(1500),
                    .began = microseconds(30),
                    .ended = nanoseconds(31500),
                    .flops = 500,
                    .bytes = 12288,
                    .held_bytes = 3000}};
  return run;
}

inline Recording Of(std::vector<std::shared_ptr<const RecordedRun>> runs) {
  return {.id = 3,
          .wanted = {.model = "digits"},
          .done = true,
          .at = TimePoint(std::chrono::seconds(1800000000)),
          .began = kBegan,
          .until = kBegan + std::chrono::seconds(1),
          .runs = std::move(runs)};
}

}  // namespace longshore::profiling
