#include "serving-node/engine/cpu/cpu.h"

#include <algorithm>

#include "serving-node/engine/cpu/compiled.h"
#include "serving-node/engine/host/host.h"

namespace longshore::engine::cpu {

std::unique_ptr<Engine> MakeEngine(const Options& options) {
  const ExecutionOptions execution{.threads = std::max(1, options.threads_per_run),
                                   .limits = {.time_max = options.loop_time_max},
                                   .passes_off = options.passes_off};
  const auto memory = std::make_shared<RunMemory>();
  return host::MakeEngine({.threads = options.runs,
                           .waiting_runs_max = options.waiting_runs_max,
                           .run_bytes_max = options.run_bytes_max,
                           .loop_time_max = options.loop_time_max,
                           .compiler = [execution, memory](const LoadOptions& load) -> host::MakeExecutable {
                             ExecutionOptions per_model = execution;
                             per_model.by_row = load.deterministic;
                             return [execution = std::move(per_model), memory, weights = std::make_shared<Weights>()](
                                        graph::Graph graph, const host::Fold& fold) {
                               return std::make_unique<Compiled>(std::move(graph), execution, memory, weights, fold);
                             };
                           }});
}

}  // namespace longshore::engine::cpu
