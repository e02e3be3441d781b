// Kernels: one plain function per op, and the table that says which ops there are.
//
// To add an op: write its function, add a row to the family's table (or a family to kernel.cc), add a test. Semantics
// are TensorFlow's. A kernel trusts nothing about its inputs but their number: what does not fit is InvalidArgument,
// never a crash.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "serving-node/engine/reference/kernels/resources.h"
#include "serving-node/graph/graph.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::reference::kernels {

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
  size_t room_bytes = SIZE_MAX;  // What is left of the run's memory for tensors and tables.
  RunTables* tables = nullptr;   // Those that the run made; nullptr where it makes none.
  Bodies* bodies = nullptr;      // Runs those of the node; see bodies.h.

  // The call with other inputs.
  Call With(std::span<const Tensor> others) const { return {node, others, resources, room_bytes, tables, bodies}; }

  // What the run may take more.
  size_t LeftBytes() const;

  // ResourceExhausted when the run has no memory for such a tensor. To be asked before an output is made whose size is
  // more than a few times that of the inputs.
  Status HasRoomFor(DType type, const Shape& shape) const;

  const Tensor& in(size_t index) const { return inputs[index]; }
  const graph::Attributes& attributes() const { return node.attributes; }
};

using Outputs = Result<std::vector<Tensor>>;
using Compute = Outputs (*)(const Call& call);
using Check = Status (*)(const graph::Node& node);

// Element types as bits: 1 << type.
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
  TypeSet types = kAnyType;  // Which values of the attribute T it takes.
  Check check = nullptr;     // What else of the attributes must be so; Unimplemented otherwise. At load.
  bool is_foldable = true;   // The same inputs always give the same outputs and nothing else happens.
};

// nullptr when there is none.
const Kernel* FindKernel(std::string_view op);

// All of them, sorted by op.
std::span<const Kernel> AllKernels();

// What tensors hold, lists and texts' places included, as if none shared a buffer.
size_t HeldBytes(std::span<const Tensor> tensors);

// What the kernel computes. Its errors; ResourceExhausted when the run has no memory for what it made.
Outputs RunKernel(const Kernel& kernel, const Call& call);

// The families, each in its own file.
std::span<const Kernel> BinaryKernels();
std::span<const Kernel> CastKernels();
std::span<const Kernel> ControlKernels();
std::span<const Kernel> ConvolutionKernels();
std::span<const Kernel> CsvKernels();
std::span<const Kernel> EinsumKernels();
std::span<const Kernel> ExampleKernels();
std::span<const Kernel> FillKernels();
std::span<const Kernel> GatherKernels();
std::span<const Kernel> JoinKernels();
std::span<const Kernel> LogicKernels();
std::span<const Kernel> MatMulKernels();
std::span<const Kernel> MoveKernels();
std::span<const Kernel> NormalizeKernels();
std::span<const Kernel> PoolKernels();
std::span<const Kernel> ReduceKernels();
std::span<const Kernel> ShapeKernels();
std::span<const Kernel> TensorArrayKernels();
std::span<const Kernel> TensorListKernels();
std::span<const Kernel> SliceKernels();
std::span<const Kernel> StringKernels();
std::span<const Kernel> TableFileKernels();
std::span<const Kernel> TableKernels();
std::span<const Kernel> UnaryKernels();
std::span<const Kernel> VariableKernels();
std::span<const Kernel> BlockKernels();
std::span<const Kernel> CropKernels();
std::span<const Kernel> FlipKernels();
std::span<const Kernel> ImageKernels();
std::span<const Kernel> ResizeKernels();
std::span<const Kernel> SuppressionKernels();
std::span<const Kernel> TransposedConvolutionKernels();
std::span<const Kernel> VolumeKernels();
std::span<const Kernel> CumulativeKernels();
std::span<const Kernel> DiagonalKernels();
std::span<const Kernel> FunctionKernels();
std::span<const Kernel> MatrixKernels();
std::span<const Kernel> ScatterKernels();
std::span<const Kernel> VectorKernels();
std::span<const Kernel> QuantizeKernels();
std::span<const Kernel> QuantizedKernels();
std::span<const Kernel> RandomKernels();
std::span<const Kernel> RecurrentKernels();
std::span<const Kernel> RenderingKernels();
std::span<const Kernel> StatelessRandomKernels();
std::span<const Kernel> Base64Kernels();
std::span<const Kernel> FormatKernels();
std::span<const Kernel> HashKernels();
std::span<const Kernel> RegexKernels();
std::span<const Kernel> SplitKernels();
std::span<const Kernel> TextJoinKernels();
std::span<const Kernel> UnicodeKernels();
std::span<const Kernel> DecoderKernels();
std::span<const Kernel> CountKernels();
std::span<const Kernel> RaggedDenseKernels();
std::span<const Kernel> RaggedKernels();
std::span<const Kernel> SparseKernels();
std::span<const Kernel> SparseProductKernels();
std::span<const Kernel> PartitionKernels();
std::span<const Kernel> SegmentKernels();
std::span<const Kernel> SetKernels();
std::span<const Kernel> SparseSegmentKernels();

// One output.
inline Outputs One(Tensor tensor) { return std::vector<Tensor>{std::move(tensor)}; }
inline Outputs One(Result<Tensor> tensor) {
  if (!tensor) return tl::make_unexpected(tensor.error());
  return One(std::move(*tensor));
}

// The numbers of an int32 or int64 tensor of rank 0 or 1, at most kRankMax or `count_max` of them.
Result<std::vector<int64_t>> IntsOf(const Tensor& tensor, std::string_view what, size_t count_max = tensor::kRankMax);
Result<int64_t> IntOf(const Tensor& tensor, std::string_view what);

// An axis within a rank, negative ones counted from the end. Requires nothing; InvalidArgument when it lies outside.
Result<int> AxisOf(int64_t axis, int rank);

// The same elements of the same type with the shape; elements not set.
Result<Tensor> MakeLike(const Tensor& like, Shape shape);

// Products of the sizes of dimensions [begin, end).
int64_t Product(const Shape& shape, size_t begin, size_t end);

}  // namespace longshore::engine::reference::kernels
