#include "serving-node/engine/interpreter/plan_executable.h"

namespace longshore::engine::interpreter {
namespace {

using tensor::Tensor;

class PlanExecutable final : public Executable {
 public:
  PlanExecutable(Plan plan, const kernels::RunLimits& limits) : plan_(std::move(plan)), limits_(limits) {}

  Result<std::vector<Tensor>> Run(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                  kernels::Resources& resources, size_t memory_bytes_max,
                                  bool* planned = nullptr) const override {
    if (planned != nullptr) *planned = false;  // The plan is made when the model is loaded, for all shapes.
    return plan_.Run(fed, wanted, resources, memory_bytes_max, nullptr, limits_);
  }
  bool IsPlanned(const std::map<std::string, Tensor>&, std::span<const size_t>) const override { return true; }
  Result<std::optional<Origin>> FindNonFinite(const std::map<std::string, Tensor>& fed, kernels::Resources& resources,
                                              size_t memory_bytes_max) const override {
    return plan_.FindNonFinite(fed, resources, memory_bytes_max, limits_);
  }
  Result<std::vector<Tensor>> Profile(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                      kernels::Resources& resources, size_t memory_bytes_max,
                                      RunProfile* profile) const override {
    return plan_.Profile(fed, wanted, resources, memory_bytes_max, profile, limits_);
  }
  PlanView Explain(const std::map<std::string, Tensor>&, std::span<const size_t>, kernels::Resources&) const override {
    return plan_.Explain();
  }
  int64_t memory_bytes(kernels::CountedBuffers* counted) const override { return plan_.folded_bytes(counted); }

 private:
  const Plan plan_;
  const kernels::RunLimits limits_;
};

}  // namespace

std::unique_ptr<Executable> RunPlan(Plan plan, const kernels::RunLimits& limits) {
  return std::make_unique<PlanExecutable>(std::move(plan), limits);
}

}  // namespace longshore::engine::interpreter
