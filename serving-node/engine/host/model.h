// A SavedModel in memory, with an executable for each signature.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serving-node/engine/engine.h"
#include "serving-node/engine/host/compiler.h"
#include "serving-node/engine/host/pool.h"
#include "serving-node/engine/host/short_runs.h"
#include "serving-node/engine/interpreter/executable.h"
#include "serving-node/engine/kernels/base/bodies.h"

namespace longshore::engine::host {

// A signature ready to run.
struct SignaturePlan {
  struct Input {
    std::string tensor;                            // "serving_default_x:0".
    tensor::DType type = tensor::DType::kInvalid;  // The type of the tensor in the graph.
    int position = 0;                              // The position among the fed tensors, sorted by their names.
    std::optional<tensor::Tensor> otherwise;       // The default value, used if the request has no such input.
  };
  std::optional<Error> refusal;  // Set if this signature cannot run; other signatures of the model may.
  std::map<std::string, Input> inputs;
  std::vector<std::string> outputs;  // Names, in the order of the graph's outputs.
  std::unique_ptr<interpreter::Executable> executable;
  std::unique_ptr<ShortRuns> short_runs = std::make_unique<ShortRuns>();
};

class Model final : public LoadedModel {
 public:
  // Reads and prepares the model. See Engine::Load for the errors. `run_bytes_max`: the memory limit of a run, without
  // its inputs. `limits`: the limits of loops and recursion in a run. Without `make_executable`, reference kernels run
  // the signatures.
  static Result<std::shared_ptr<Model>> Load(const Path& version_dir, const LoadOptions& options, Pool& pool,
                                             size_t run_bytes_max, const kernels::RunLimits& limits = {},
                                             const MakeExecutable& make_executable = nullptr);

  // See FindUnsupportedOps.
  static Result<std::vector<UnsupportedOp>> FindUnsupported(const Path& version_dir, const LoadOptions& options);

  const Signatures& signatures() const override { return signatures_; }
  void Run(RunRequest request, RunDone done) override;
  void FindNonFinite(RunRequest request, FindDone done) override;
  Result<RunProfile> Profile(const RunRequest& request) override;
  Result<PlanView> Explain(const RunRequest& request) override;
  int64_t memory_bytes() const override;

 private:
  Model(Pool& pool, size_t run_bytes_max) : pool_(pool), run_bytes_max_(run_bytes_max) {}
  // A request in the form that the executable of its signature takes.
  struct ResolvedRequest {
    const SignaturePlan* signature = nullptr;
    std::map<std::string, tensor::Tensor> fed;
    std::vector<size_t> positions;  // The positions of the wanted outputs; all if empty.
  };
  // Returns the plan that computes the outputs of the request. NotFound for an unknown signature, and the error of
  // NoSuchOutput if the outputs are those of several signatures and merged_ does not have one of them.
  Result<const SignaturePlan*> PlanFor(const RunRequest& request) const;
  Result<ResolvedRequest> Take(const RunRequest& request) const;
  // Returns nullopt unless the run is likely to be short and needs no planning.
  std::optional<ResolvedRequest> TakeIfShort(const RunRequest& request) const;
  Result<RunResult> Compute(const RunRequest& request);
  Result<RunResult> ComputeResolved(const RunRequest& request, const ResolvedRequest& resolved);
  Result<RunResult> ComputeProfiled(const ResolvedRequest& resolved, RunProfile* profile);
  Result<std::optional<NonFinite>> FindOrigin(const RunRequest& request);
  template <typename Answer>
  void Post(RunRequest request, std::function<void(Result<Answer>)> done,
            Result<Answer> (Model::*compute)(const RunRequest& request));

  Pool& pool_;
  const size_t run_bytes_max_;
  Signatures signatures_;
  std::map<std::string, SignaturePlan> plans_;
  std::optional<SignaturePlan> merged_;  // Several signatures (engine/together.h); nullopt if they have no plan.
  kernels::Resources resources_;
};

}  // namespace longshore::engine::host
