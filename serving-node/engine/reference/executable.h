// What runs a signature in place of its plan.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/engine/reference/kernels/resources.h"
#include "serving-node/engine/reference/origins.h"
#include "serving-node/graph/graph.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::reference {

// Thread-safe: any number of runs at once.
class Executable {
 public:
  virtual ~Executable() = default;
  // These as the Plan's, with its promises and errors.
  virtual Result<std::vector<tensor::Tensor>> Run(const std::map<std::string, tensor::Tensor>& fed,
                                                  std::span<const size_t> wanted, kernels::Resources& resources,
                                                  size_t memory_bytes_max) const = 0;
  virtual Result<std::optional<Origin>> FindNonFinite(const std::map<std::string, tensor::Tensor>& fed,
                                                      kernels::Resources& resources, size_t memory_bytes_max) const = 0;
  // As Run; fills the nodes and the peak of the profile, the times of which count from profile->began.
  virtual Result<std::vector<tensor::Tensor>> Profile(const std::map<std::string, tensor::Tensor>& fed,
                                                      std::span<const size_t> wanted, kernels::Resources& resources,
                                                      size_t memory_bytes_max, RunProfile* profile) const = 0;
  virtual PlanView Explain(const std::map<std::string, tensor::Tensor>& fed, std::span<const size_t> wanted,
                           kernels::Resources& resources) const = 0;
  virtual int64_t memory_bytes(kernels::CountedBuffers* counted) const = 0;
};

}  // namespace longshore::engine::reference
