#include "serving-node/engine/host/host.h"

#include <algorithm>
#include <thread>

#include "common/base/thrown.h"
#include "serving-node/engine/host/model.h"
#include "serving-node/saved_model/saved_model.h"
#include "serving-node/tensor/proto.h"

namespace longshore::engine::host {
namespace {

int ThreadsOf(const Options& options) {
  if (options.threads > 0) return options.threads;
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

// The bytes of one row; unknown sizes count as 1.
int64_t RowBytes(const tensorflow::TensorInfo& info) {
  int64_t bytes = static_cast<int64_t>(std::max<size_t>(tensor::ElementBytes(tensor::FromProto(info.dtype())), 1));
  const auto pattern = tensor::PatternFromProto(info.tensor_shape()).value_or(tensor::Shape{});
  for (const int64_t size : pattern) {
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes)) return INT64_MAX;
  }
  return bytes;
}

// The bytes of one row of all inputs and outputs.
int64_t RowBytes(const tensorflow::SignatureDef& signature) {
  int64_t bytes = 0;
  for (const auto* tensors : {&signature.inputs(), &signature.outputs()}) {
    for (const auto& [_, info] : *tensors) {
      if (__builtin_add_overflow(bytes, RowBytes(info), &bytes)) return INT64_MAX;
    }
  }
  return bytes;
}

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
    Estimate estimate{.weights_bytes = static_cast<int64_t>(meta.graph_def().ByteSizeLong()), .run_bytes = 0};
    const Path prefix = saved_model::VariablesPrefix(version_dir);
    std::error_code error;
    if (std::filesystem::exists(prefix.parent_path(), error)) {
      ASSIGN_OR_RETURN(const auto bundle, saved_model::Bundle::Open(prefix));
      estimate.weights_bytes += bundle.stored_bytes();
    }
    for (const auto& [_, signature] : meta.signature_def()) {
      estimate.run_bytes = std::max(estimate.run_bytes, RowBytes(signature));
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
