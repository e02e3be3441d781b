// The common part of the engines that compute in this machine's memory: it loads SavedModels, queues runs and limits
// them.
//
// Without a compiler, the interpreter runs the graphs with one plain kernel per op. The tests compare faster engines
// with the interpreter, so its kernels are written for clarity; it is fast enough to serve small models.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "serving-node/engine/engine.h"
#include "serving-node/engine/host/compiler.h"

namespace longshore::engine::host {

struct Options {
  int threads = 0;                         // Concurrent runs; 0 means one per processor.
  int waiting_runs_max = 10'000;           // The most queued runs; further ones fail with Unavailable.
  size_t run_bytes_max = size_t{2} << 30;  // Runs that need more memory (inputs aside) fail with ResourceExhausted.
  // The time limit of a run with branches or loops, checked before each branch and each iteration of a loop.
  std::chrono::milliseconds loop_time_max = std::chrono::minutes(1);
  // Set by another engine to run the graphs in its own way; called once for each model. See interpreter/executable.h.
  std::function<MakeExecutable(const LoadOptions& options)> compiler = {};
};

// The engine must outlive the models that it loaded.
std::unique_ptr<Engine> MakeEngine(const Options& options = {});

// Returns the unsupported ops of a version, each op once; empty if all are supported. Reads the graph but not the
// weights. Returns the errors of Engine::Load.
Result<std::vector<UnsupportedOp>> FindUnsupportedOps(const Path& version_dir, const LoadOptions& options);

}  // namespace longshore::engine::host
