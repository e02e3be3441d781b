// The flags of finding, loading and unloading versions; most are TensorFlow Serving's.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "serving-node/models/model_store.h"

namespace CLI {
class App;
}

namespace longshore::app::flags {

struct LoadingFlags {
  double file_system_poll_wait_seconds = 1;
  int max_num_load_retries = 5;
  int64_t load_retry_interval_micros = 60'000'000;
  int num_load_threads = 0;    // 0: two threads.
  int num_unload_threads = 0;  // 0: one thread.
  bool flush_filesystem_caches = true;
  // Longshore's.
  std::string version_transition = "availability";  // "availability" or "resource".
  int64_t model_memory_bytes_max = 0;               // 0: no limit.

  void AddTo(CLI::App& app);
  // A managed node does not repeat failed loads itself: it reports the failure, and the controller decides on a retry.
  models::ModelStore::Options StoreOptions(bool managed) const;
};

}  // namespace longshore::app::flags
