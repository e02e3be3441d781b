// The reference engine: SavedModels on the CPU, one plain kernel per op.
//
// It judges every faster engine, so its kernels are written to be read; and it is quick enough to serve small models.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "serving-node/engine/engine.h"
#include "serving-node/graph/graph.h"

namespace longshore::engine {

namespace reference {
class Executable;
// Computes what depends on constants alone, for a pass that has made more of them.
using Fold = std::function<graph::Graph(graph::Graph graph)>;
// Another engine's way to run the graph of a signature. Of one model's signatures.
using MakeExecutable = std::function<std::unique_ptr<Executable>(graph::Graph graph, const Fold& fold)>;
}  // namespace reference

struct ReferenceOptions {
  int threads = 0;                         // Runs at the same time; 0: one per processor.
  int waiting_runs_max = 10'000;           // Runs that wait for a thread; more are refused with Unavailable.
  size_t run_bytes_max = size_t{2} << 30;  // Memory of one run beside its inputs; an op that wants more is refused.
  // Of a run with loops or branches: looked at before each step, and what takes longer is refused.
  std::chrono::milliseconds loop_time_max = std::chrono::minutes(1);
  // How another engine runs graphs; asked once for each model. See reference/executable.h.
  std::function<reference::MakeExecutable(const LoadOptions& options)> compiler = {};
};

// The engine must outlive the models that it loaded.
std::unique_ptr<Engine> MakeReferenceEngine(const ReferenceOptions& options = {});

// What keeps a version from being loaded, each op once; empty: nothing. Reads the graph and no weights. Errors as of
// Engine::Load.
Result<std::vector<UnsupportedOp>> FindUnsupportedOps(const Path& version_dir, const LoadOptions& options);

}  // namespace longshore::engine
