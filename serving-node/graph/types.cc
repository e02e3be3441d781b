#include "serving-node/graph/types.h"

#include <algorithm>

namespace longshore::graph {

bool Type::is_static() const {
  if (type == tensor::DType::kInvalid || !shape || std::ranges::any_of(*shape, [](int64_t size) { return size < 0; }))
    return false;
  const auto count = tensor::ElementCount(*shape);
  return count &&
         static_cast<size_t>(*count) <= tensor::kTensorBytesMax / std::max<size_t>(tensor::ElementBytes(type), 1);
}

const Type& Types::at(const Edge& edge) const {
  static const Type kUnknown;
  const auto& outputs = of_[static_cast<size_t>(edge.node)];
  const auto at = static_cast<size_t>(edge.output);
  return edge.output >= 0 && at < outputs.size() ? outputs[at] : kUnknown;
}

}  // namespace longshore::graph
