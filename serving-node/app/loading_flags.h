// The flags of finding, loading and unloading versions: most of them TensorFlow Serving's.
#pragma once

#include <cstdint>
#include <string>

#include "common/error.h"
#include "serving-node/models/model_store.h"

namespace CLI {
class App;
}

namespace longshore::app {

struct LoadingFlags {
  double file_system_poll_wait_seconds = 1;
  int max_num_load_retries = 5;
  int64_t load_retry_interval_micros = 60'000'000;
  int num_load_threads = 0;    // 0: two.
  int num_unload_threads = 0;  // 0: one.
  bool flush_filesystem_caches = true;
  // Ours.
  std::string version_transition = "availability";  // Or "resource".
  int64_t model_memory_bytes_max = 0;               // 0: no limit.

  void AddTo(CLI::App& app);
  // Of a managed node no load is repeated: it reports a failure and is told whether to try again.
  models::ModelStore::Options StoreOptions(bool managed) const;
};

}  // namespace longshore::app
