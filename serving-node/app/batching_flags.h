// The flags of batching, all of them TensorFlow Serving's. Of a managed node each Model says how it batches.
#pragma once

#include <optional>

#include "common/error.h"
#include "common/file.h"
#include "serving-node/batching/batching.h"

namespace CLI {
class App;
}

namespace longshore::app {

struct BatchingFlags {
  bool enable_batching = false;
  Path batching_parameters_file;
  bool enable_per_model_batching_parameters = false;
  batching::Options options{};  // Of every model that has none of its own; set by Read.

  void AddTo(CLI::App& app);
  // InvalidArgument for a file or for parameters per model without batching.
  Status Check() const;
  // Reads the file into `options`, and returns the batches that it wants at once; 0: it does not say.
  // InvalidArgument or NotFound naming the flag, the file, the line and the field.
  Result<int> Read();
};

// How a version that brings a file of its own joins requests; one without does not. InvalidArgument naming the file,
// the line and the field: the version does not load.
Result<std::optional<batching::Options>> BatchingOfVersion(const Path& version_dir);

}  // namespace longshore::app
