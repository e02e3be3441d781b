// The flags of batching on a standalone node; all are TensorFlow Serving's. On a managed node each Model configures its
// own batching.
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
  // Returns InvalidArgument if a parameter file or parameters per model are given without --enable_batching.
  Status Check() const;
  // Reads --batching_parameters_file into `options` and returns its num_batch_threads, the number of batches that run
  // at once; 0 if the file does not set it. An error is InvalidArgument or NotFound and names the flag, the file, the
  // line and the field.
  Result<int> Read();
};

// Reads the batching parameters from the directory of the version. Returns nullopt if it contains no such file; the
// version is then not batched. If the file is wrong, returns InvalidArgument, which names the file, the line and the
// field; the version then does not load.
Result<std::optional<batching::Options>> BatchingOfVersion(const Path& version_dir);

}  // namespace longshore::app::flags
