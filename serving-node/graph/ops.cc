#include "serving-node/graph/ops.h"

#include <string_view>
#include <unordered_map>
#include <vector>

#include "serving-node/graph/op_families.h"

namespace longshore::graph {
namespace {

std::vector<Op> JoinFamilies() {
  std::vector<Op> all;
  for (const auto family : {ElementwiseOps, ListOps, MoveOps, ProductOps, ReductionOps, StateOps, TextOps}) {
    const auto ops = family();
    all.insert(all.end(), ops.begin(), ops.end());
  }
  return all;
}

std::unordered_map<std::string_view, const Op*> IndexOf(std::span<const Op> ops) {
  std::unordered_map<std::string_view, const Op*> index;
  for (const Op& op : ops) index.emplace(op.name, &op);
  return index;
}

}  // namespace

std::span<const Op> AllOps() {
  static const std::vector<Op> kAll = JoinFamilies();
  return kAll;
}

const Op& FindOp(std::string_view name) {
  static const auto kIndex = IndexOf(AllOps());
  static constexpr Op kUnknown{};
  const auto found = kIndex.find(name);
  return found == kIndex.end() ? kUnknown : *found->second;
}

}  // namespace longshore::graph
