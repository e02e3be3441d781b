#include "serving-node/graph/types.h"

#include <algorithm>
#include <iterator>

#include "serving-node/graph/shapes.h"

namespace longshore::graph {

bool Type::is_static() const {
  if (type == tensor::DType::kInvalid || !IsWhole(shape)) return false;
  const auto count = tensor::ElementCount(*shape);
  return count &&
         static_cast<size_t>(*count) <= tensor::kTensorBytesMax / std::max<size_t>(tensor::ElementBytes(type), 1);
}

std::optional<std::vector<int64_t>> IntsIn(const Type& type) {
  if (!type.value) return std::nullopt;
  std::vector<int64_t> numbers;
  if (type.value->type() == tensor::DType::kInt32) {
    std::ranges::copy(type.value->values<int32_t>(), std::back_inserter(numbers));
  } else if (type.value->type() == tensor::DType::kInt64) {
    std::ranges::copy(type.value->values<int64_t>(), std::back_inserter(numbers));
  } else {
    return std::nullopt;
  }
  return numbers;
}

std::optional<std::vector<int64_t>> VectorIn(const Type& type) {
  if (!type.value || type.value->rank() > 1) return std::nullopt;
  return IntsIn(type);
}

const Type& At(std::span<const Type> inputs, size_t i) {
  static const Type kUnknown;
  return i < inputs.size() ? inputs[i] : kUnknown;
}

const Type& Types::at(const Edge& edge) const {
  static const Type kUnknown;
  const auto& outputs = of_[static_cast<size_t>(edge.node)];
  const auto at = static_cast<size_t>(edge.output);
  return edge.output >= 0 && at < outputs.size() ? outputs[at] : kUnknown;
}

}  // namespace longshore::graph
