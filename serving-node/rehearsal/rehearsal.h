// The rehearsal of a version: its first load, warm-up and golden set run in a separate process, so that a file that
// crashes its reader crashes only that process.
//
// RunRehearsal starts the node's program as `longshore-node rehearse ...`, which is Main below. The child writes its
// result to a pipe (a line with the error code, then the text of the error or a serialized control.GoldenResult) and
// exits.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "longshore/control.pb.h"
#include "serving-node/engine/engine.h"
#include "serving-node/golden_set/score.h"

namespace longshore::rehearsal {

struct RehearsalOptions {
  std::string model;
  int64_t version = 0;
  Path version_dir;                // Holds saved_model.pb. Its parent is the folder of the model.
  Path stable_dir;                 // The directory of the stable version; "" if there is none or it is unknown.
  control::Validation validation;  // golden_set is relative to the folder of the model, or absolute.
  bool warm_up = true;
  std::chrono::milliseconds time_max = std::chrono::minutes(5);
  int64_t memory_bytes_max = 0;  // Limit of the child's address space; 0: no limit.
  Path program = "/proc/self/exe";
  int stop_fd = -1;  // The rehearsal is cancelled when this becomes readable; -1: never.
};

// Rehearses the version and waits for the end. The result says whether the version passed (`ok`, `message`).
// Errors: the error of the child if the version does not load or warm up; Aborted if the child crashed (`the rehearsal
// process of "digits" version 3 was killed by signal 11 (SIGSEGV)`); DeadlineExceeded after time_max; Cancelled if
// stop_fd becomes readable. In the last two cases the child is killed.
Result<control::GoldenResult> RunRehearsal(const RehearsalOptions& options);

// Loads, warms up and judges the version in this process. `ok` is false, and `message` says why, if the version no
// longer accepts the requests of the stable version ("SignatureChanged: ..."), the score of the golden set is below its
// minimum, an output is NaN or Inf (with non_finite_reject), or the same input gives two answers (with deterministic).
// `observe` is called for each record of the golden set.
Result<control::GoldenResult> Judge(engine::Engine& engine, const RehearsalOptions& options,
                                    const golden_set::Observer& observe = {});

// The main function of the child. `arguments` are those after `longshore-node rehearse`. Returns the exit code.
int Main(const std::vector<std::string>& arguments, engine::Engine& engine);

}  // namespace longshore::rehearsal
