#include "serving-node/app/flags/limit_flags.h"

#include <CLI/CLI.hpp>

namespace longshore::app::flags {

void LimitFlags::AddTo(CLI::App& app) {
  const std::string group = "Limits of a request";
  app.add_option("--request_inflated_bytes_max", budget.inflated_bytes_max,
                 "bytes of a gzipped body after decompression [104857600]")
      ->group(group);
  app.add_option("--request_elements_max", budget.elements_max, "elements of all input tensors together [268435456]")
      ->group(group);
  app.add_option("--run_memory_bytes_max", budget.run_bytes_max,
                 "memory of one run in addition to its inputs; an op that needs more fails the request [2147483648]")
      ->group(group);
}

Status LimitFlags::Check() const {
  if (budget.inflated_bytes_max > 0 && budget.elements_max > 0 && budget.run_bytes_max > 0) return {};
  return InvalidArgument(
      "--request_inflated_bytes_max, --request_elements_max and --run_memory_bytes_max must be at least 1");
}

}  // namespace longshore::app::flags
