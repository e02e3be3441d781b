// What runs a signature in place of its plan.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/engine/reference/kernels/resources.h"
#include "serving-node/engine/reference/plan.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::reference {

// Thread-safe: any number of runs at once.
class Executable {
 public:
  virtual ~Executable() = default;
  // As Plan::Run, with its promises and errors.
  virtual Result<std::vector<tensor::Tensor>> Run(const std::map<std::string, tensor::Tensor>& fed,
                                                  std::span<const size_t> wanted, kernels::Resources& resources,
                                                  size_t memory_bytes_max, const kernels::RunLimits& limits) const = 0;
  // Runs on the caller's thread and looks at every step.
  virtual Result<std::vector<tensor::Tensor>> Profile(const std::map<std::string, tensor::Tensor>& fed,
                                                      std::span<const size_t> wanted, kernels::Resources& resources,
                                                      size_t memory_bytes_max, RunProfile* profile) const = 0;
  virtual PlanView Explain(const std::map<std::string, tensor::Tensor>& fed, std::span<const size_t> wanted,
                           kernels::Resources& resources) const = 0;
  // Beside what the plan holds.
  virtual int64_t memory_bytes() const = 0;
};

// Another engine's way to run what the plan says; nullptr when the plan itself is to run.
using MakeExecutable = std::function<std::unique_ptr<Executable>(const Plan& plan)>;

}  // namespace longshore::engine::reference
