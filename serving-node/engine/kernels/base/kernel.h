// Kernels: one plain function per op.
//
// To add an op: write its function, add a row to the list of its family (a new family also needs a line in the
// families.h of its folder and in kernels/registry.cc), and add a test.
// The semantics are TensorFlow's. A kernel may rely on the number of its inputs and on nothing else about them: it
// returns InvalidArgument for unsuitable inputs and never crashes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "serving-node/engine/kernels/base/resources.h"
#include "serving-node/engine/kernels/base/tensor_list.h"
#include "serving-node/graph/graph.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::kernels {

using tensor::DType;
using tensor::DTypeName;
using tensor::Shape;
using tensor::Tensor;
using tensor::ToString;

class Bodies;

struct Call {
  const graph::Node& node;
  std::span<const Tensor> inputs;
  Resources& resources;
  size_t room_bytes = SIZE_MAX;  // The part of the run's memory limit that this call may use.
  RunTables* tables = nullptr;   // Counts the memory of the tables that the run made; nullptr if it makes none.
  Bodies* bodies = nullptr;      // Runs the bodies of the node; see bodies.h.

  // The same call with other inputs.
  Call With(std::span<const Tensor> others) const { return {node, others, resources, room_bytes, tables, bodies}; }

  // Returns the bytes that this call may still allocate: room_bytes minus the memory of the tables that the run made.
  size_t LeftBytes() const;

  // Returns ResourceExhausted if a tensor of this type and shape does not fit into LeftBytes(). Call it before making
  // an output that may be more than a few times as large as the inputs.
  // A tensor without elements is checked as if its sizes of zero were one and its elements were 64-bit numbers. Such a
  // tensor costs a client nothing, but before kernels look at elements, they multiply the sizes and make tables with an
  // entry for each index of a dimension. There is always room for kEmptyBytesMin bytes of such elements.
  Status HasRoomFor(DType type, const Shape& shape) const;
  static constexpr size_t kEmptyBytesMin = size_t{1} << 20;

  // Checks HasRoomFor for each input without elements.
  Status CheckEmptyInputs() const;

  const Tensor& in(size_t index) const { return inputs[index]; }
  const graph::Attributes& attributes() const { return node.attributes; }
};

using Outputs = Result<std::vector<Tensor>>;
using Compute = Outputs (*)(const Call& call);
using Check = Status (*)(const graph::Node& node);

// A set of element types: bit 1 << type for each.
using TypeSet = uint32_t;
constexpr TypeSet Only(DType type) { return TypeSet{1} << static_cast<int>(type); }
inline constexpr TypeSet kAnyType = ~TypeSet{0};
inline constexpr TypeSet kFloats = Only(DType::kFloat) | Only(DType::kDouble);
inline constexpr TypeSet kShortFloats = Only(DType::kHalf) | Only(DType::kBfloat16);
inline constexpr TypeSet kIntegers = Only(DType::kInt32) | Only(DType::kInt64) | Only(DType::kUint8) |
                                     Only(DType::kInt8) | Only(DType::kInt16) | Only(DType::kUint16) |
                                     Only(DType::kUint32) | Only(DType::kUint64);
inline constexpr TypeSet kNumbers = kFloats | kIntegers;
inline constexpr TypeSet kQuantized =
    Only(DType::kQint8) | Only(DType::kQuint8) | Only(DType::kQint16) | Only(DType::kQuint16) | Only(DType::kQint32);

struct Kernel {
  std::string_view op;
  Compute compute = nullptr;
  int inputs_min = 0;
  TypeSet types = kAnyType;     // The supported values of the attribute T.
  Check check = nullptr;        // Runs at load. Returns Unimplemented for unsupported attributes.
  bool is_foldable = true;      // Same inputs give the same outputs, without side effects.
  bool reads_table = false;     // The outputs depend on the entries of a table, too.
  bool reads_variable = false;  // The outputs depend on a variable's value, too: foldable only if no run writes it.
};

// Runs the kernel. Returns the kernel's errors, those of CheckEmptyInputs, or ResourceExhausted if its outputs exceed
// call.LeftBytes().
Outputs RunKernel(const Kernel& kernel, const Call& call);

// Return the outputs of a kernel with a single output.
inline Outputs One(Tensor tensor) { return std::vector<Tensor>{std::move(tensor)}; }
inline Outputs One(Result<Tensor> tensor) {
  if (!tensor) return tl::make_unexpected(tensor.error());
  return One(std::move(*tensor));
}

// Returns the values of an int32 or int64 tensor of rank 0 or 1; InvalidArgument for other tensors and for more than
// `count_max` values. `what` names the input in errors.
Result<std::vector<int64_t>> IntsOf(const Tensor& tensor, std::string_view what, size_t count_max = tensor::kRankMax);
Result<int64_t> IntOf(const Tensor& tensor, std::string_view what);

// Converts an axis in [-rank, rank) to one in [0, rank): negative axes count from the end. Returns InvalidArgument if
// the axis is out of range.
Result<int> AxisOf(int64_t axis, int rank);

// Makes a tensor of the type of `like` with the given shape. Numbers in it are not initialised.
Result<Tensor> MakeLike(const Tensor& like, Shape shape);

// Returns the product of the sizes of the dimensions [begin, end).
int64_t Product(const Shape& shape, size_t begin, size_t end);

}  // namespace longshore::engine::kernels
