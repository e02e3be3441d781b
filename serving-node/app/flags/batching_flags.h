// The flags of batching on a standalone node; all are TensorFlow Serving's. On a managed node each Model configures its
// batching.
#pragma once

#include <optional>

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/batching/batching.h"

namespace CLI {
class App;
}

namespace longshore::app::flags {

struct BatchingFlags {
  bool enable_batching = false;
  Path batching_parameters_file;
  bool enable_per_model_batching_parameters = false;
  batching::Options options{};  // For every version without options of its own; set by Read.

  void AddTo(CLI::App& app);
  // InvalidArgument if a parameter file or parameters per model are given without --enable_batching.
  Status Check() const;
  // Reads the file into `options` and returns its num_batch_threads, the number of batches that run at once; 0 if the
  // file does not set it. InvalidArgument or NotFound name the flag, the file, the line and the field.
  Result<int> Read();
};

// Reads the batching parameters from the directory of the version; nullopt if it has no such file: the version is then
// not batched. InvalidArgument names the file, the line and the field; the version then does not load.
Result<std::optional<batching::Options>> BatchingOfVersion(const Path& version_dir);

}  // namespace longshore::app::flags
