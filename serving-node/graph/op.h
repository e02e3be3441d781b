// An op as the graph layer and the CPU engine know it: one row of the tables in ops_*.cc.
//
// Two other tables have a row per op: outputs.cc, with the names of outputs, because a test compares all of it with
// TensorFlow; and the list of kernels (engine/kernels/registry.h), because an op needs no row here to run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "serving-node/graph/types.h"

namespace longshore::graph {

struct NodeRows;

// The types of a node's outputs for given input types. An empty list: they cannot be told.
using TypeRule = std::vector<Type> (*)(const Node& node, std::span<const Type> inputs);

// Whether row i of the first output depends only on row i of the inputs that have rows, and on inputs that are the same
// for all rows.
using RowRule = bool (*)(const NodeRows& of);

// The number of arithmetic operations for these shapes in a run; the output has elements. nullopt: one for each element
// of the output.
using FlopsRule = std::optional<int64_t> (*)(const Node& node, const std::vector<tensor::Shape>& inputs,
                                             const tensor::Shape& output);

// For ops that only move elements.
inline std::optional<int64_t> NoFlops(const Node& /*node*/, const std::vector<tensor::Shape>& /*inputs*/,
                                      const tensor::Shape& /*output*/) {
  return 0;
}

// Whether the first output has the bytes of the first input and only another shape.
enum class Alias {
  kNo,
  kYes,
  kIfInOrder,  // If the axes of more than one element keep their order: Transpose.
};

// How the pass `elementwise` fuses the op with others.
struct Fusing {
  bool is_product = false;    // Ops that are `into_product` can be fused into it.
  int operands = 0;           // How many operands the element-wise op has: 1 or 2. 0: it is not element-wise.
  bool into_product = false;  // Can be fused into a product: an activation or a sum.
  bool into_chain = false;    // Can be fused with other ops that are `into_chain`: the CPU engine has a loop for it.
  bool is_symmetric = false;  // f(a, b) is f(b, a).
};

// Inputs as bits: bit i is input i.
inline constexpr uint32_t kAllInputs = ~0U;
inline constexpr uint32_t kAllInputsButLast = ~0U >> 1;

struct Op {
  std::string_view name;
  TypeRule type = nullptr;    // nullptr: a dry run finds the types if `moved_inputs` has a bit.
  RowRule rows = nullptr;     // nullptr: rows may influence each other.
  FlopsRule flops = nullptr;  // nullptr: one for each element of the first output.
  int weight_input = -1;      // The input that the CPU engine may keep in a packed layout if it is a constant.
  // For ops that only move elements, such as Reshape: the inputs of whose values the output shape does not depend, so
  // that a dry run may replace them by zeros of the same shape. Inputs from 32 on are not replaced.
  uint32_t moved_inputs = 0;
  Alias alias = Alias::kNo;
  Fusing fusing = {};
  bool has_channels = false;  // Each channel of the result has its own weights in input 1: they can contain a factor.
  bool has_padding = false;   // Has the attributes "padding" and "explicit_paddings" of a convolution.
  bool is_identity = false;   // Output i is input i.
  // The pass `repeats` merges equal nodes. Set for pure functions that layers tend to repeat: masks, positions, sizes.
  // Not set for ops that other passes fuse with their only reader: merged, these would have several readers.
  bool may_merge = false;
  bool reads_shapes = false;  // Depends only on the shapes of its inputs.
  bool has_effect = false;    // See Node::has_effect.
  bool is_fused = false;      // Only passes make it: no model has it, and only the CPU engine can compute it.
};

}  // namespace longshore::graph
