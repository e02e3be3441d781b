// The interface for running a signature. The reference plan and other engines implement it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/engine/interpreter/origins.h"
#include "serving-node/engine/kernels/base/resources.h"
#include "serving-node/graph/graph.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::interpreter {

// Thread-safe: any number of runs may be active at once.
class Executable {
 public:
  virtual ~Executable() = default;
  // Run, FindNonFinite and Explain do what those of Plan do, with the same errors. Run sets *planned, if it is not
  // null, as described at RunResult::planned, also if it fails.
  virtual Result<std::vector<tensor::Tensor>> Run(const std::map<std::string, tensor::Tensor>& fed,
                                                  std::span<const size_t> wanted, kernels::Resources& resources,
                                                  size_t memory_bytes_max, bool* planned = nullptr) const = 0;
  virtual Result<std::optional<Origin>> FindNonFinite(const std::map<std::string, tensor::Tensor>& fed,
                                                      kernels::Resources& resources, size_t memory_bytes_max) const = 0;
  // Whether Run can begin at once for these feeds, without planning for their shapes at any point of the run.
  virtual bool IsPlanned(const std::map<std::string, tensor::Tensor>& fed, std::span<const size_t> wanted) const = 0;
  // Like Run. Adds the nodes and the peak memory to the profile; the times of nodes count from profile->began.
  virtual Result<std::vector<tensor::Tensor>> Profile(const std::map<std::string, tensor::Tensor>& fed,
                                                      std::span<const size_t> wanted, kernels::Resources& resources,
                                                      size_t memory_bytes_max, RunProfile* profile) const = 0;
  virtual PlanView Explain(const std::map<std::string, tensor::Tensor>& fed, std::span<const size_t> wanted,
                           kernels::Resources& resources) const = 0;
  virtual int64_t memory_bytes(kernels::CountedBuffers* counted) const = 0;
};

}  // namespace longshore::engine::interpreter
