#include "serving-node/engine/cpu/op_list.h"

#include <algorithm>

#include "serving-node/engine/cpu/steps/step.h"
#include "serving-node/engine/kernels/base/kernel.h"
#include "serving-node/engine/kernels/registry.h"

namespace longshore::engine::cpu {
namespace {

std::string NamesOf(kernels::TypeSet types) {
  if (types == kernels::kAnyType) return "any";
  std::string names;
  for (const DType type :
       {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16, DType::kInt8, DType::kInt16, DType::kInt32,
        DType::kInt64, DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64, DType::kBool, DType::kString,
        DType::kQint8, DType::kQint16, DType::kQint32, DType::kQuint8, DType::kQuint16}) {
    if ((types & kernels::Only(type)) != 0) names += (names.empty() ? "" : ", ") + tensor::ShortName(type);
  }
  return names;
}

}  // namespace

std::vector<OpSupport> SupportedOps() {
  std::vector<OpSupport> ops;
  for (const auto& kernel : kernels::AllKernels()) {
    ops.push_back({std::string(kernel.op), NamesOf(kernel.types), FindFastStep(kernel.op) != nullptr});
  }
  return ops;
}

}  // namespace longshore::engine::cpu
