// An op as the graph layer and the CPU engine know it: one row of the tables in ops_*.cc.
//
// Two tables with a row per op are separate from this one: the names of outputs in outputs.cc, because a test compares
// that whole table with TensorFlow; and the kernels (engine/kernels/registry.h), because an op with a kernel can run
// without a row here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "serving-node/graph/types.h"

namespace longshore::graph {

struct NodeRows;

// Returns the types of a node's outputs for given input types; an empty list if they are unknown.
using TypeRule = std::vector<Type> (*)(const Node& node, std::span<const Type> inputs);

// Returns whether row i of the first output depends only on row i of the inputs that have rows, and on inputs that are
// the same for all rows.
using RowRule = bool (*)(const NodeRows& of);

// Returns the number of arithmetic operations of a run with these shapes; nullopt means one for each element of the
// output. Requires: the output has at least one element.
using FlopsRule = std::optional<int64_t> (*)(const Node& node, const std::vector<tensor::Shape>& inputs,
                                             const tensor::Shape& output);

// The FlopsRule of ops that only move or copy elements, and of ops that read only shapes.
inline std::optional<int64_t> NoFlops(const Node& /*node*/, const std::vector<tensor::Shape>& /*inputs*/,
                                      const tensor::Shape& /*output*/) {
  return 0;
}

// Whether the first output has the same bytes as the first input, in the same order, and only its shape may differ.
enum class Alias {
  kNo,
  kYes,
  kIfInOrder,  // Only if the axes with more than one element keep their order, as in some uses of Transpose.
};

// The part that an op takes in a product with ops fused into it, such as activation(a * b + bias + residual).
enum class ProductPart {
  kNone,
  kProduct,     // The product itself: sums and activations after it can be fused into it.
  kSum,         // Adds its second operand. The CPU engine computes every op with this part as the same addition.
  kActivation,  // A function of one operand that the CPU engine can apply to the results of a product.
};

// How the pass `elementwise` fuses the op with others.
struct Fusing {
  ProductPart part = ProductPart::kNone;
  int operands = 0;           // How many operands the element-wise op has: 1 or 2. 0: it is not element-wise.
  bool into_chain = false;    // Can be fused with other such ops into a chain: the CPU engine has a loop for it.
  bool is_symmetric = false;  // f(a, b) equals f(b, a).

  bool into_product() const { return part == ProductPart::kSum || part == ProductPart::kActivation; }
};

struct Op {
  std::string_view name;
  TypeRule type = nullptr;    // nullptr: they are unknown, unless all values of the inputs are known.
  RowRule rows = nullptr;     // nullptr: rows may influence each other.
  FlopsRule flops = nullptr;  // nullptr: one operation for each element of the first output.
  int weight_input = -1;      // The input that the CPU engine may keep in a packed layout if it is a constant.
  Alias alias = Alias::kNo;
  Fusing fusing = {};
  // A scale with one factor for each index of the result's last axis can be multiplied into the weights (input 1),
  // because each such index has its own weights. The index runs along the last axis of input 1; for
  // DepthwiseConv2dNative along its last two axes; for MatMul with transpose_b along its first axis.
  bool may_absorb_scale = false;
  // A Pad with zeros before the op can become the op's own padding, the attributes "padding" and "explicit_paddings".
  // Set only for convolutions.
  bool may_absorb_pad = false;
  bool is_identity = false;  // Output i is input i.
  // The pass `repeats` merges equal nodes of this op. Set for pure functions that layers tend to repeat: masks,
  // positions, sizes. Not set for ops that other passes fuse with their only reader: a merged node has several readers.
  bool may_merge = false;
  bool reads_shapes = false;  // The result depends only on the shapes of the inputs.
  bool has_effect = false;    // See Node::has_effect.
  bool is_fused = false;      // Only passes make this op: no model has it, and only the CPU engine can compute it.
};

}  // namespace longshore::graph
