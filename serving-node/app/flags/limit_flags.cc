#include "serving-node/app/flags/limit_flags.h"

#include <CLI/CLI.hpp>

namespace longshore::app::flags {

void LimitFlags::AddTo(CLI::App& app) {
  const std::string group = "Limits of a request";
  app.add_option("--request_inflated_bytes_max", budget.inflated_bytes_max,
                 "largest size of a gzipped body after decompression, in bytes [104857600]")
      ->group(group)
      ->check(CLI::PositiveNumber);
  app.add_option("--request_elements_max", budget.elements_max,
                 "largest number of elements in all input tensors of a request together [268435456]")
      ->group(group)
      ->check(CLI::PositiveNumber);
  app.add_option("--run_memory_bytes_max", budget.run_bytes_max,
                 "memory that one run may use in addition to its inputs, in bytes; if an op needs more, the request "
                 "fails [2147483648]")
      ->group(group)
      ->check(CLI::PositiveNumber);
  app.add_option("--per_process_gpu_memory_fraction", gpu_memory_fraction,
                 "share of a GPU's memory, from 0 to 1; has no effect, because the engine runs on the CPU [0]")
      ->check(CLI::Range(0.0, 1.0))
      ->group("TensorFlow Serving's flags");
}

}  // namespace longshore::app::flags
