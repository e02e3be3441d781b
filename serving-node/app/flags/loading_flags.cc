#include "serving-node/app/flags/loading_flags.h"

#include <CLI/CLI.hpp>

namespace longshore::app::flags {
namespace {

constexpr int kThreadsMax = 64;
constexpr const char* kAvailability = "availability";
constexpr const char* kResource = "resource";

}  // namespace

void LoadingFlags::AddTo(CLI::App& app) {
  const std::string group = "Finding, loading and unloading versions";
  app.add_option("--file_system_poll_wait_seconds", file_system_poll_wait_seconds,
                 "time between two scans for new versions; 0: scan once [1]")
      ->group(group);
  app.add_option("--max_num_load_retries", max_num_load_retries, "further attempts after a failed load [5]")
      ->check(CLI::Range(0, 1'000'000))
      ->group(group);
  app.add_option("--load_retry_interval_micros", load_retry_interval_micros, "time between two attempts [60000000]")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  app.add_option("--num_load_threads", num_load_threads,
                 "versions that load in parallel, on threads of low priority; 0: two versions [0]")
      ->check(CLI::Range(0, kThreadsMax))
      ->group(group);
  app.add_option("--num_unload_threads", num_unload_threads, "versions that unload in parallel; 0: one version [0]")
      ->check(CLI::Range(0, kThreadsMax))
      ->group(group);
  app.add_flag("--flush_filesystem_caches{true}", flush_filesystem_caches,
               "drop the files of a version from the system's file cache after its load [true]")
      ->group(group);
  app.add_option(
         "--version_transition", version_transition,
         "availability: load the new version, then unload the old one; resource: unload the old one first, so that "
         "only one must fit into memory, but requests fail until the new one is loaded [availability]")
      ->check(CLI::IsMember({kAvailability, kResource}))
      ->group(group);
  app.add_option(
         "--model_memory_bytes_max", model_memory_bytes_max,
         "bytes of memory for all versions together, estimated as 1.2 times the size of their files; a version that "
         "does not fit is not loaded; 0: no limit [0]")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
}

models::ModelStore::Options LoadingFlags::StoreOptions(bool managed) const {
  models::ModelStore::Options options;
  if (num_load_threads > 0) options.load_threads = num_load_threads;
  if (num_unload_threads > 0) options.unload_threads = num_unload_threads;
  options.unload_first = version_transition == kResource;
  options.memory_bytes_max = model_memory_bytes_max;
  options.flush_caches = flush_filesystem_caches;
  options.unload_for_memory = managed;
  if (managed) return options;
  options.load_retries_max = max_num_load_retries;
  options.load_retry_interval = std::chrono::milliseconds(load_retry_interval_micros / 1000);
  return options;
}

}  // namespace longshore::app::flags
