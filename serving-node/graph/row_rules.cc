#include "serving-node/graph/row_rules.h"

#include <algorithm>
#include <optional>
#include <string>

#include "serving-node/graph/einsum_equation.h"

namespace longshore::graph {
namespace {

bool HasRows(const RowInput& input) { return input.kind == RowKind::kRows; }
bool IsSame(const RowInput& input) { return input.kind == RowKind::kSame; }

size_t RankOf(const Type& type) { return type.shape->size(); }

// Whether input `at` has rows and all other inputs are the same for all rows.
bool ByRowOf(size_t at, const NodeRows& of) {
  for (size_t i = 0; i < of.inputs.size(); ++i) {
    if (i == at ? !HasRows(of.inputs[i]) : !IsSame(of.inputs[i])) return false;
  }
  return of.inputs.size() > at;
}

// The value as integers; nullopt if it is not known, not of integers, or not the same for all rows.
std::optional<std::vector<int64_t>> IntsOf(const RowInput& input) {
  const auto& value = input.type.value;
  if (!value || !IsSame(input)) return std::nullopt;
  std::vector<int64_t> ints;
  if (value->type() == tensor::DType::kInt32) {
    ints.assign(value->values<int32_t>().begin(), value->values<int32_t>().end());
  } else if (value->type() == tensor::DType::kInt64) {
    ints.assign(value->values<int64_t>().begin(), value->values<int64_t>().end());
  } else {
    return std::nullopt;
  }
  return ints;
}

// Whether the axes are known and the first axis is not among them.
bool LeavesFirstAxis(const RowInput& axes, size_t rank) {
  const auto known = IntsOf(axes);
  const auto is_first = [&](int64_t axis) { return axis == 0 || axis == -static_cast<int64_t>(rank); };
  return known && std::ranges::none_of(*known, is_first);
}

}  // namespace

bool ByRowOfFirst(const NodeRows& of) { return ByRowOf(0, of); }

bool ByRowOfAll(const NodeRows& of) {
  return std::ranges::all_of(of.inputs, [&](const RowInput& input) {
    return IsSame(input) || (HasRows(input) && RankOf(input.type) == RankOf(of.output));
  });
}

bool ByRowOfMatrices(const NodeRows& of) { return RankOf(of.output) >= 3 && ByRowOfAll(of); }

bool ByRowOfConcat(const NodeRows& of) {
  const std::span inputs(of.inputs);
  return !inputs.empty() && std::ranges::all_of(inputs.first(inputs.size() - 1), HasRows) &&
         LeavesFirstAxis(inputs.back(), RankOf(inputs[0].type));
}

// Whether the first label of the result is the first label of every operand with rows and occurs in no other operand.
// True, for example, of "abc,cd->abd" if only the first operand has rows.
bool ByRowOfEinsum(const NodeRows& of) {
  const auto labels = ParseEinsum(of.node.attributes.Text("equation", ""));
  if (!labels || labels->result.empty() || labels->operands.size() != of.inputs.size()) return false;
  const char row = labels->result.front();
  for (size_t i = 0; i < of.inputs.size(); ++i) {
    const std::string& own = labels->operands[i];
    const bool is_by_row =
        HasRows(of.inputs[i]) ? own.rfind(row) == 0 : IsSame(of.inputs[i]) && own.find(row) == std::string::npos;
    if (!is_by_row) return false;
  }
  return true;
}

bool ByRowOfGather(const NodeRows& of) {
  return of.inputs.size() == 3 && ByRowOf(1, of) && IntsOf(of.inputs[2]) == std::vector<int64_t>{0} &&
         of.node.attributes.Int("batch_dims", 0) == 0;
}

bool ByRowOfMatMul(const NodeRows& of) { return ByRowOf(0, of) && !of.node.attributes.Bool("transpose_a", false); }

bool ByRowOfReduction(const NodeRows& of) {
  return of.inputs.size() == 2 && ByRowOf(0, of) && LeavesFirstAxis(of.inputs[1], RankOf(of.inputs[0].type));
}

bool ByRowOfReshape(const NodeRows& of) { return of.inputs.size() == 2 && HasRows(of.inputs[0]); }

bool ByRowOfSoftmax(const NodeRows& of) { return ByRowOf(0, of) && RankOf(of.output) > 1; }

// Whether the slice takes the whole first axis and keeps it first.
bool ByRowOfStridedSlice(const NodeRows& of) {
  if (of.inputs.size() != 4 || !ByRowOf(0, of)) return false;
  const auto& attributes = of.node.attributes;
  const auto has_first = [&](const char* mask) { return attributes.Int(mask, 0) % 2 != 0; };
  const auto strides = IntsOf(of.inputs[3]);
  return strides && !strides->empty() && strides->front() == 1 && has_first("begin_mask") && has_first("end_mask") &&
         !has_first("shrink_axis_mask") && !has_first("new_axis_mask") && attributes.Int("ellipsis_mask", 0) == 0;
}

// Whether the first axis stays first.
bool ByRowOfTranspose(const NodeRows& of) {
  const auto order = of.inputs.size() == 2 && ByRowOf(0, of) ? IntsOf(of.inputs[1]) : std::nullopt;
  return order && !order->empty() && order->front() == 0;
}

}  // namespace longshore::graph
