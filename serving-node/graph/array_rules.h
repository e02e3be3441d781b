// Type rules of ops that reshape, join, cut, move or repeat arrays. Each returns the types of the outputs, as a
// TypeRule does: with -1 for a size and without a shape for a rank that the types of the inputs do not determine, and
// without a shape for inputs that the op's kernel refuses. type_rules_test.cc compares them with the kernels.
//
// The formulas follow the shape functions of TensorFlow's array ops (tensorflow/core/ops).
#pragma once

#include <span>
#include <vector>

#include "serving-node/graph/types.h"

namespace longshore::graph {

std::vector<Type> BroadcastToType(const Node& node, std::span<const Type> inputs);
std::vector<Type> ConcatType(const Node& node, std::span<const Type> inputs);    // The axis is the first input.
std::vector<Type> ConcatV2Type(const Node& node, std::span<const Type> inputs);  // The axis is the last input.
std::vector<Type> ExpandDimsType(const Node& node, std::span<const Type> inputs);
std::vector<Type> FillType(const Node& node, std::span<const Type> inputs);
std::vector<Type> GatherType(const Node& node, std::span<const Type> inputs);
std::vector<Type> GatherNdType(const Node& node, std::span<const Type> inputs);
std::vector<Type> IdentityNType(const Node& node, std::span<const Type> inputs);
std::vector<Type> LikeFirst(const Node& node, std::span<const Type> inputs);  // The type of the first input.
std::vector<Type> OneHotType(const Node& node, std::span<const Type> inputs);
std::vector<Type> PackType(const Node& node, std::span<const Type> inputs);
std::vector<Type> PadType(const Node& node, std::span<const Type> inputs);
std::vector<Type> ReshapeType(const Node& node, std::span<const Type> inputs);
std::vector<Type> ScatterNdType(const Node& node, std::span<const Type> inputs);
std::vector<Type> SegmentsType(const Node& node, std::span<const Type> inputs);
std::vector<Type> SliceType(const Node& node, std::span<const Type> inputs);
std::vector<Type> SplitType(const Node& node, std::span<const Type> inputs);
std::vector<Type> SplitVType(const Node& node, std::span<const Type> inputs);
std::vector<Type> SqueezeType(const Node& node, std::span<const Type> inputs);
std::vector<Type> StridedSliceType(const Node& node, std::span<const Type> inputs);
std::vector<Type> TileType(const Node& node, std::span<const Type> inputs);
std::vector<Type> TopKType(const Node& node, std::span<const Type> inputs);
std::vector<Type> TransposeType(const Node& node, std::span<const Type> inputs);
std::vector<Type> UnpackType(const Node& node, std::span<const Type> inputs);

}  // namespace longshore::graph
