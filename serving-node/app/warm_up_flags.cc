#include "serving-node/app/warm_up_flags.h"

#include <CLI/CLI.hpp>

namespace longshore::app {

void WarmUpFlags::AddTo(CLI::App& app) {
  const std::string group = "Warm-up";
  app.add_flag(
         "--enable_model_warmup{true}", enable_model_warmup,
         "run a version before it is available: assets.extra/tf_serving_warmup_requests, or made-up requests [true]")
      ->group(group);
  app.add_option("--num_request_iterations_for_warmup", num_request_iterations_for_warmup,
                 "how often each recorded request is replayed; 0: once [0]")
      ->check(CLI::Range(0, 1'000'000))
      ->group(group);
}

}  // namespace longshore::app
