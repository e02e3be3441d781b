// A version whose answers become the known answers of a golden set.
#pragma once

#include <memory>

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/engine/engine.h"

namespace longshore::golden_files {

// Loads the version in the first call that needs it. Not thread-safe.
class TrustedVersion {
 public:
  explicit TrustedVersion(Path dir);
  ~TrustedVersion();

  // Errors as for engine::Engine::Load.
  Result<engine::LoadedModel*> Load();
  // InvalidArgument if an output is NaN or Inf, because no metric lets such an answer pass. Otherwise errors as for
  // engine::LoadedModel::Run.
  Result<engine::TensorMap> Answer(const engine::RunRequest& request);

  const Path& dir() const { return dir_; }

 private:
  const Path dir_;
  std::unique_ptr<engine::Engine> engine_;
  std::shared_ptr<engine::LoadedModel> model_;
};

}  // namespace longshore::golden_files
