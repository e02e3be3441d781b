#include "serving-node/app/flags/warm_up_flags.h"

#include <CLI/CLI.hpp>

namespace longshore::app::flags {

void WarmUpFlags::AddTo(CLI::App& app) {
  const std::string group = "Warm-up";
  app.add_flag(
         "--enable_model_warmup{true}", enable_model_warmup,
         "run the recorded requests of assets.extra/tf_serving_warmup_requests, or generated ones, before a version "
         "becomes available [true]")
      ->group(group);
  app.add_option("--num_request_iterations_for_warmup", num_request_iterations_for_warmup,
                 "how many times each recorded request runs; 0: once [0]")
      ->check(CLI::Range(0, 1'000'000))
      ->group(group);
}

}  // namespace longshore::app::flags
