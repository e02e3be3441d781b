// Reductions over known axes: Sum, Max, ArgMax, ...
#include <optional>
#include <vector>

#include "serving-node/graph/op_families.h"
#include "serving-node/graph/row_rules.h"

namespace longshore::graph {
namespace {

using tensor::DType;
using tensor::Shape;

// Returns for each axis whether it is reduced; nullopt if `axes` is unknown or out of range.
std::optional<std::vector<bool>> Reduced(const Type& axes, size_t rank) {
  const auto given = IntsIn(axes);
  if (!given) return std::nullopt;
  std::vector<bool> reduced(rank);
  for (int64_t axis : *given) {
    if (axis < 0) axis += static_cast<int64_t>(rank);
    if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
    reduced[static_cast<size_t>(axis)] = true;
  }
  return reduced;
}

std::optional<Shape> ReducedShape(std::span<const Type> inputs, bool keep) {
  if (inputs.size() != 2 || !inputs[0].shape) return std::nullopt;
  const Shape& in = *inputs[0].shape;
  const auto reduced = Reduced(inputs[1], in.size());
  if (!reduced) return std::nullopt;
  Shape shape;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!(*reduced)[i]) shape.push_back(in[i]);
    if ((*reduced)[i] && keep) shape.push_back(1);
  }
  return shape;
}

std::vector<Type> Reduction(const Node& node, std::span<const Type> inputs) {
  if (inputs.empty()) return {};
  return {{inputs[0].type, ReducedShape(inputs, node.attributes.Bool("keep_dims", false)), std::nullopt}};
}

std::vector<Type> ArgReduction(const Node& node, std::span<const Type> inputs) {
  return {{node.attributes.Type("output_type", DType::kInt64), ReducedShape(inputs, false), std::nullopt}};
}

constexpr Op kOps[] = {
    {.name = "All", .type = Reduction, .rows = ByRowOfReduction},
    {.name = "Any", .type = Reduction, .rows = ByRowOfReduction},
    {.name = "ArgMax", .type = ArgReduction, .rows = ByRowOfReduction},
    {.name = "ArgMin", .type = ArgReduction, .rows = ByRowOfReduction},
    {.name = "EuclideanNorm", .type = Reduction, .rows = ByRowOfReduction},
    {.name = "Max", .type = Reduction, .rows = ByRowOfReduction},
    {.name = "Mean", .type = Reduction, .rows = ByRowOfReduction},
    {.name = "Min", .type = Reduction, .rows = ByRowOfReduction},
    {.name = "Prod", .type = Reduction, .rows = ByRowOfReduction, .may_merge = true},
    {.name = "Sum", .type = Reduction, .rows = ByRowOfReduction},
};

}  // namespace

std::span<const Op> ReductionOps() { return kOps; }

}  // namespace longshore::graph
