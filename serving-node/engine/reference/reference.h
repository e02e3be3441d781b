// The reference engine: SavedModels on the CPU, one plain kernel per op.
//
// Faster engines are tested against it, so its kernels are written for clarity. It is fast enough to serve small
// models.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "serving-node/engine/engine.h"
#include "serving-node/graph/graph.h"

namespace longshore::engine {

namespace reference {
class Executable;
// Folds constants, for passes that make new ones.
using Fold = std::function<graph::Graph(graph::Graph graph)>;
// Makes another engine's executable for the graph of a signature. Called for each signature of one model.
using MakeExecutable = std::function<std::unique_ptr<Executable>(graph::Graph graph, const Fold& fold)>;
}  // namespace reference

struct ReferenceOptions {
  int threads = 0;                         // Concurrent runs; 0: one per processor.
  int waiting_runs_max = 10'000;           // Queued runs; further ones fail with Unavailable.
  size_t run_bytes_max = size_t{2} << 30;  // Memory of one run without its inputs; above: ResourceExhausted.
  // The time limit of a run with branches or loops, checked before each step.
  std::chrono::milliseconds loop_time_max = std::chrono::minutes(1);
  // Set by another engine to run graphs its own way; called once for each model. See reference/executable.h.
  std::function<reference::MakeExecutable(const LoadOptions& options)> compiler = {};
};

// The engine must outlive the models that it loaded.
std::unique_ptr<Engine> MakeReferenceEngine(const ReferenceOptions& options = {});

// The unsupported ops of a version, each op once; empty if all are supported. Reads the graph but not the weights.
// Errors as for Engine::Load.
Result<std::vector<UnsupportedOp>> FindUnsupportedOps(const Path& version_dir, const LoadOptions& options);

}  // namespace longshore::engine
