#include "serving-node/engine/host/host.h"

#include <algorithm>

#include "common/base/thrown.h"
#include "common/os/processors.h"
#include "serving-node/engine/host/model.h"
#include "serving-node/saved_model/saved_model.h"

namespace longshore::engine::host {
namespace {

int ThreadsOf(const Options& options) { return options.threads > 0 ? options.threads : Processors(); }

class HostEngine final : public Engine {
 public:
  explicit HostEngine(const Options& options)
      : run_bytes_max_(options.run_bytes_max),
        limits_{.time_max = options.loop_time_max},
        compiler_(options.compiler),
        pool_(ThreadsOf(options), static_cast<size_t>(std::max(options.waiting_runs_max, 1))) {}

  std::vector<tensor::Device> devices() const override { return {tensor::Device{}}; }

  Result<Estimate> EstimateLoad(const Path& version_dir, const LoadOptions& options) const override try {
    ASSIGN_OR_RETURN(const auto meta, saved_model::ReadMetaGraph(version_dir, options.tags));
    Estimate estimate{.weights_bytes = static_cast<int64_t>(meta.graph_def().ByteSizeLong())};
    const Path prefix = saved_model::VariablesPrefix(version_dir);
    std::error_code error;
    if (std::filesystem::exists(prefix.parent_path(), error)) {
      ASSIGN_OR_RETURN(const auto bundle, saved_model::Bundle::Open(prefix));
      estimate.weights_bytes += bundle.stored_bytes();
    }
    return estimate;
  } catch (...) {
    return FromThrown("the estimate of {}", version_dir.native());
  }

  Result<std::shared_ptr<LoadedModel>> Load(const Path& version_dir, const LoadOptions& options) override try {
    if (options.device != tensor::Device{}) return InvalidArgument("this engine runs on the CPU only");
    return Model::Load(version_dir, options, pool_, run_bytes_max_, limits_, compiler_ ? compiler_(options) : nullptr);
  } catch (...) {
    return FromThrown("the load of {}", version_dir.native());
  }

 private:
  const size_t run_bytes_max_;
  const kernels::RunLimits limits_;
  const std::function<MakeExecutable(const LoadOptions& options)> compiler_;
  Pool pool_;
};

}  // namespace

std::unique_ptr<Engine> MakeEngine(const Options& options) { return std::make_unique<HostEngine>(options); }

Result<std::vector<UnsupportedOp>> FindUnsupportedOps(const Path& version_dir, const LoadOptions& options) {
  return Model::FindUnsupported(version_dir, options);
}

}  // namespace longshore::engine::host
