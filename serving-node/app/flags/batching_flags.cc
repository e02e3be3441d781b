#include "serving-node/app/flags/batching_flags.h"

#include <CLI/CLI.hpp>

#include "common/os/log.h"
#include "serving-node/config/batching_parameters.h"

namespace longshore::app::flags {

void BatchingFlags::AddTo(CLI::App& app) {
  const std::string group = "Batching";
  app.add_flag("--enable_batching", enable_batching, "combine requests for the same signature into batches")
      ->group(group);
  app.add_option("--batching_parameters_file", batching_parameters_file,
                 "text-proto BatchingParameters: max_batch_size [1000], batch_timeout_micros [0], max_enqueued_batches "
                 "[10], num_batch_threads [one per processor], allowed_batch_sizes, pad_variable_length_inputs, "
                 "enable_large_batch_splitting, max_execution_batch_size")
      ->group(group);
  app.add_flag("--enable_per_model_batching_parameters", enable_per_model_batching_parameters,
               "read the parameters of each version from its batching_params.pbtxt; versions without that file are not "
               "batched, and only num_batch_threads of --batching_parameters_file is used")
      ->group(group);
}

Status BatchingFlags::Check() const {
  if (enable_batching) return {};
  if (!batching_parameters_file.empty()) {
    return InvalidArgument(
        "server_options.batching_parameters_file is set without setting server_options.enable_batching to true. "
        "--batching_parameters_file needs --enable_batching");
  }
  if (enable_per_model_batching_parameters) {
    return InvalidArgument("--enable_per_model_batching_parameters needs --enable_batching");
  }
  return {};
}

Result<int> BatchingFlags::Read() {
  if (!enable_batching) return 0;
  config::Batching batching{.options = config::DefaultBatching(), .threads = 0};
  if (!batching_parameters_file.empty()) {
    auto read = config::ReadBatching(batching_parameters_file);
    if (!read) return Fail(read.error().code, "--batching_parameters_file: {}", read.error().message);
    batching = std::move(*read);
  }
  if (!enable_per_model_batching_parameters) options = std::move(batching.options);
  return batching.threads;
}

Result<std::optional<batching::Options>> BatchingOfVersion(const Path& version_dir) {
  const Path file = version_dir / config::kVersionBatchingFile;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  ASSIGN_OR_RETURN(config::Batching own, config::ReadBatching(file));
  if (own.threads != 0)
    spdlog::info("{}: num_batch_threads is ignored here: set it in --batching_parameters_file", file.string());
  return std::move(own.options);
}

}  // namespace longshore::app::flags
