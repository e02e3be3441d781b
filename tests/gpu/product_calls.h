// Products by cuBLASLt.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <source_location>
#include <vector>

#include "tests/gpu/shapes.h"

namespace longshore::gpu {

void CheckBlas(cublasStatus_t status, std::source_location where = std::source_location::current());

enum class Precision { kFloat32, kTf32, kBfloat16 };

struct Matrices {
  const void* left = nullptr;
  const void* right = nullptr;
  const void* bias = nullptr;  // One number per column; only for an epilogue with a bias.
  void* output = nullptr;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

// A product with its descriptors. cuBLASLt stores matrices by columns, so it is given the transposed problem: the
// output's transpose is the transpose of right times the transpose of left.
class ProductCall {
 public:
  ProductCall(const Product& product, Precision precision, cublasLtEpilogue_t epilogue);

  // The algorithms that the library proposes, best first. `bias` must be set if the epilogue uses one.
  std::vector<cublasLtMatmulHeuristicResult_t> Algorithms(cublasLtHandle_t handle, int count_max,
                                                          size_t workspace_bytes_max);

  void Run(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm, const Matrices& matrices,
           cudaStream_t stream) const;
  cublasStatus_t TryRun(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm, const Matrices& matrices,
                        cudaStream_t stream) const;

  void SetBias(const void* bias);

 private:
  struct OperationDeleter {
    void operator()(cublasLtMatmulDesc_t operation) const { cublasLtMatmulDescDestroy(operation); }
  };
  struct LayoutDeleter {
    void operator()(cublasLtMatrixLayout_t layout) const { cublasLtMatrixLayoutDestroy(layout); }
  };
  using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, LayoutDeleter>;

  static Layout MakeLayout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t batches);

  std::unique_ptr<cublasLtMatmulDescOpaque_t, OperationDeleter> operation_;
  Layout left_, right_, output_;
};

}  // namespace longshore::gpu
