#include "serving-node/engine/kernels/base/wide_product.h"

#include "serving-node/engine/kernels/base/blocked_product.h"

namespace longshore::engine::kernels {

void ProductByAvx2(const float* a, const float* b, float* out, int64_t m, int64_t k, int64_t n) {
  BlockedProduct(a, b, out, m, k, n);
}

}  // namespace longshore::engine::kernels
