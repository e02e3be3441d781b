#include "tests/gpu/product_calls.h"

#include <stdexcept>
#include <string>

namespace longshore::gpu {

void CheckBlas(cublasStatus_t status, std::source_location where) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(cublasLtGetStatusName(status)) + ", line " + std::to_string(where.line()));
}

ProductCall::ProductCall(const Product& product, Precision precision, cublasLtEpilogue_t epilogue) {
  const cudaDataType_t type = precision == Precision::kBfloat16 ? CUDA_R_16BF : CUDA_R_32F;
  const cublasComputeType_t compute = precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  cublasLtMatmulDesc_t operation = nullptr;
  CheckBlas(cublasLtMatmulDescCreate(&operation, compute, CUDA_R_32F));
  operation_.reset(operation);
  const cublasOperation_t transposition = product.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  CheckBlas(
      cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposition, sizeof transposition));
  CheckBlas(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
  right_ = product.is_transposed ? MakeLayout(type, product.inner, product.columns, product.batches)
                                 : MakeLayout(type, product.columns, product.inner, product.batches);
  left_ = MakeLayout(type, product.inner, product.rows, product.batches);
  output_ = MakeLayout(type, product.columns, product.rows, product.batches);
}

ProductCall::Layout ProductCall::MakeLayout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t batches) {
  cublasLtMatrixLayout_t made = nullptr;
  CheckBlas(cublasLtMatrixLayoutCreate(&made, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), rows));
  Layout layout(made);
  const auto count = static_cast<int32_t>(batches);
  const int64_t stride = rows * columns;
  CheckBlas(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
  CheckBlas(
      cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
  return layout;
}

void ProductCall::SetBias(const void* bias) {
  CheckBlas(cublasLtMatmulDescSetAttribute(operation_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
}

std::vector<cublasLtMatmulHeuristicResult_t> ProductCall::Algorithms(cublasLtHandle_t handle, int count_max,
                                                                     size_t workspace_bytes_max) {
  cublasLtMatmulPreference_t made = nullptr;
  CheckBlas(cublasLtMatmulPreferenceCreate(&made));
  const auto destroy = [](cublasLtMatmulPreference_t preference) { cublasLtMatmulPreferenceDestroy(preference); };
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, decltype(destroy)> preference(made, destroy);
  CheckBlas(cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes_max,
                                                 sizeof workspace_bytes_max));
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<size_t>(count_max));
  int count = 0;
  CheckBlas(cublasLtMatmulAlgoGetHeuristic(handle, operation_.get(), right_.get(), left_.get(), output_.get(),
                                           output_.get(), made, count_max, found.data(), &count));
  found.resize(static_cast<size_t>(count));
  return found;
}

cublasStatus_t ProductCall::TryRun(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm,
                                   const Matrices& matrices, cudaStream_t stream) const {
  const float one = 1, zero = 0;
  return cublasLtMatmul(handle, operation_.get(), &one, matrices.right, right_.get(), matrices.left, left_.get(), &zero,
                        matrices.output, output_.get(), matrices.output, output_.get(), &algorithm, matrices.workspace,
                        matrices.workspace_bytes, stream);
}

void ProductCall::Run(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm, const Matrices& matrices,
                      cudaStream_t stream) const {
  CheckBlas(TryRun(handle, algorithm, matrices, stream));
}

}  // namespace longshore::gpu
