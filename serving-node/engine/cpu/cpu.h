// The CPU engine: runs SavedModels with oneDNN, planned separately for each set of input shapes.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "serving-node/engine/engine.h"

namespace longshore::engine::cpu {

struct Options {
  int runs = 0;                            // Concurrent runs (inter-op parallelism); 0 means one per processor.
  int threads_per_run = 1;                 // Intra-op parallelism.
  int waiting_runs_max = 10'000;           // The most queued runs; further ones fail with Unavailable.
  size_t run_bytes_max = size_t{2} << 30;  // Runs that need more memory (inputs aside) fail with ResourceExhausted.
  std::chrono::milliseconds loop_time_max = std::chrono::minutes(1);  // Time limit of one run with branches or loops.
  std::set<std::string> passes_off = {};  // Passes to skip, to find a faulty one; see graph::passes::Names.
};

// The engine must outlive the models that it loaded.
std::unique_ptr<Engine> MakeEngine(const Options& options = {});

}  // namespace longshore::engine::cpu
