// The CPU engine: SavedModels on oneDNN, planned for the shapes that come.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "serving-node/engine/engine.h"

namespace longshore::engine {

struct CpuOptions {
  int runs = 0;                            // At the same time (inter-op); 0: one per processor.
  int threads_per_run = 1;                 // Intra-op.
  int waiting_runs_max = 10'000;           // Runs that wait for a thread; more are refused with Unavailable.
  size_t run_bytes_max = size_t{2} << 30;  // Memory of one run beside its inputs; an op that wants more is refused.
  std::chrono::milliseconds loop_time_max = std::chrono::minutes(1);  // Of one run with branches or loops.
  std::set<std::string> passes_off = {};  // By graph::passes::Names, to find the one that is at fault.
};

// The engine must outlive the models that it loaded.
std::unique_ptr<Engine> MakeCpuEngine(const CpuOptions& options = {});

}  // namespace longshore::engine
