// The trial of a version: its first load, warm-up and golden set happen in a process of their own, so that a file that
// kills its reader kills only that.
//
// RunTrial starts the node's program again as `longshore-node trial ...`, which is Main below. The child writes its
// result to a pipe, one line with an error code and then the error's text or a serialized control.GoldenResult, and
// ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "longshore/control.pb.h"
#include "serving-node/engine/engine.h"

namespace longshore::trial {

struct TrialOptions {
  std::string model;
  int64_t version = 0;
  Path version_dir;                // Holds saved_model.pb. Its parent is the source.
  Path stable_dir;                 // Of the version that serves, if it is another and known.
  control::Validation validation;  // golden_set is a path below the source.
  bool warm_up = true;
  std::chrono::milliseconds time_max = std::chrono::minutes(5);
  int64_t memory_bytes_max = 0;  // Of address space; 0: no limit.
  Path program = "/proc/self/exe";
  int stop_fd = -1;  // The trial ends when this becomes readable; -1: never.
};

// Waits for the trial. The result tells how the golden set went, good or bad (`ok`, `message`).
// Errors: the child's own one when the version does not load or warm up; Aborted when it died ("the trial process of
// "digits" version 3 was killed by signal 11 (SIGSEGV)"); DeadlineExceeded after time_max, and Cancelled by stop_fd,
// when the child is killed.
Result<control::GoldenResult> RunTrial(const TrialOptions& options);

// Loads, warms up and judges in this process. `ok` is false, and `message` says why, when the version no longer takes
// what the one in stable_dir takes ("SignatureChanged: ..."), the golden set misses its minimum, an output is NaN or
// Inf (non_finite_reject), or the same input gives two answers (deterministic).
Result<control::GoldenResult> Judge(engine::Engine& engine, const TrialOptions& options);

// The child: `trial --version-dir DIR ...`, without the program's name. Returns the exit code.
int Main(const std::vector<std::string>& arguments, engine::Engine& engine);

}  // namespace longshore::trial
