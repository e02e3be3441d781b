// Ops that move elements, or read only shapes. A dry run finds their types.
#include "serving-node/graph/op_families.h"
#include "serving-node/graph/row_rules.h"

namespace longshore::graph {
namespace {

constexpr Op kOps[] = {
    {.name = "BatchToSpaceND", .moved_inputs = 0b1},
    {.name = "BroadcastTo", .moved_inputs = 0b1, .may_merge = true},
    {.name = "ConcatV2", .rows = ByRowOfConcat, .flops = NoFlops, .moved_inputs = kAllInputsButLast},
    {.name = "DepthToSpace", .moved_inputs = 0b1},
    {.name = "ExpandDims",
     .rows = ByRowOfFirst,
     .flops = NoFlops,
     .moved_inputs = 0b1,
     .alias = Alias::kYes,
     .may_merge = true},
    {.name = "Fill", .moved_inputs = 0b10, .may_merge = true},
    {.name = "Gather", .moved_inputs = 0b11},
    {.name = "GatherNd", .moved_inputs = 0b11},
    {.name = "GatherV2", .rows = ByRowOfGather, .flops = NoFlops, .moved_inputs = 0b11, .may_merge = true},
    {.name = "IdentityN", .is_identity = true},
    {.name = "MatrixBandPart", .may_merge = true},
    {.name = "MirrorPad", .rows = ByRowOfFirst, .moved_inputs = 0b1},
    {.name = "OneHot", .moved_inputs = 0b1101, .may_merge = true},
    {.name = "Pack", .flops = NoFlops, .moved_inputs = kAllInputs, .may_merge = true},
    {.name = "Pad", .rows = ByRowOfFirst, .flops = NoFlops, .moved_inputs = 0b1},
    {.name = "PadV2", .rows = ByRowOfFirst, .flops = NoFlops, .moved_inputs = 0b1},
    {.name = "Range", .may_merge = true},
    {.name = "Rank", .reads_shapes = true},
    {.name = "Reshape",
     .rows = ByRowOfReshape,
     .flops = NoFlops,
     .moved_inputs = 0b1,
     .alias = Alias::kYes,
     .may_merge = true},
    {.name = "ResizeBilinear", .rows = ByRowOfFirst, .moved_inputs = 0b1},
    {.name = "ResizeNearestNeighbor", .rows = ByRowOfFirst, .moved_inputs = 0b1},
    {.name = "Roll", .moved_inputs = 0b1},
    {.name = "Shape", .flops = NoFlops, .may_merge = true, .reads_shapes = true},
    {.name = "ShapeN", .reads_shapes = true},
    {.name = "Size", .reads_shapes = true},
    {.name = "Slice", .moved_inputs = 0b1},
    {.name = "SpaceToBatchND", .moved_inputs = 0b1},
    {.name = "SpaceToDepth", .moved_inputs = 0b1},
    {.name = "Split", .moved_inputs = 0b10},
    {.name = "SplitV", .moved_inputs = 0b1},
    {.name = "Squeeze",
     .rows = ByRowOfFirst,
     .flops = NoFlops,
     .moved_inputs = 0b1,
     .alias = Alias::kYes,
     .may_merge = true},
    {.name = "StridedSlice", .rows = ByRowOfStridedSlice, .flops = NoFlops, .moved_inputs = 0b1, .may_merge = true},
    {.name = "Tile", .moved_inputs = 0b1, .may_merge = true},
    {.name = "TopKV2", .moved_inputs = 0b1},
    {.name = "Transpose",
     .rows = ByRowOfTranspose,
     .flops = NoFlops,
     .moved_inputs = 0b1,
     .alias = Alias::kIfInOrder,
     .may_merge = true},
    {.name = "Unpack", .moved_inputs = 0b1},
};

}  // namespace

std::span<const Op> MoveOps() { return kOps; }

}  // namespace longshore::graph
