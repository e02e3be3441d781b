// Ops that move elements, or read only shapes. A dry run finds their types.
#include "serving-node/graph/op_families.h"
#include "serving-node/graph/row_rules.h"

namespace longshore::graph {
namespace {

constexpr Op kOps[] = {
    {.name = "BatchToSpaceND", .flops = NoFlops, .moved_inputs = 0b1},
    {.name = "BroadcastTo", .flops = NoFlops, .moved_inputs = 0b1, .may_merge = true},
    {.name = "ConcatV2", .rows = ByRowOfConcat, .flops = NoFlops, .moved_inputs = kAllInputs, .needs_last_input = true},
    {.name = "DepthToSpace", .flops = NoFlops, .moved_inputs = 0b1},
    {.name = "ExpandDims",
     .rows = ByRowOfFirst,
     .flops = NoFlops,
     .moved_inputs = 0b1,
     .alias = Alias::kYes,
     .may_merge = true},
    {.name = "Fill", .flops = NoFlops, .moved_inputs = 0b10, .may_merge = true},
    {.name = "Gather", .flops = NoFlops, .moved_inputs = 0b11},
    {.name = "GatherNd", .flops = NoFlops, .moved_inputs = 0b11},
    {.name = "GatherV2", .rows = ByRowOfGather, .flops = NoFlops, .moved_inputs = 0b11, .may_merge = true},
    {.name = "IdentityN", .flops = NoFlops, .is_identity = true},
    {.name = "MatrixBandPart", .flops = NoFlops, .may_merge = true},
    {.name = "MirrorPad", .rows = ByRowOfFirst, .flops = NoFlops, .moved_inputs = 0b1},
    {.name = "OneHot", .flops = NoFlops, .moved_inputs = 0b1101, .may_merge = true},
    {.name = "Pack", .flops = NoFlops, .moved_inputs = kAllInputs, .may_merge = true},
    {.name = "Pad", .rows = ByRowOfFirst, .flops = NoFlops, .moved_inputs = 0b1},
    {.name = "PadV2", .rows = ByRowOfFirst, .flops = NoFlops, .moved_inputs = 0b1},
    {.name = "Range", .may_merge = true},
    {.name = "Rank", .flops = NoFlops, .reads_shapes = true},
    {.name = "Reshape",
     .rows = ByRowOfReshape,
     .flops = NoFlops,
     .moved_inputs = 0b1,
     .alias = Alias::kYes,
     .may_merge = true},
    {.name = "ResizeBilinear", .rows = ByRowOfFirst, .moved_inputs = 0b1},
    {.name = "ResizeNearestNeighbor", .rows = ByRowOfFirst, .flops = NoFlops, .moved_inputs = 0b1},
    {.name = "Roll", .flops = NoFlops, .moved_inputs = 0b1},
    {.name = "Shape", .flops = NoFlops, .may_merge = true, .reads_shapes = true},
    {.name = "ShapeN", .flops = NoFlops, .reads_shapes = true},
    {.name = "Size", .flops = NoFlops, .reads_shapes = true},
    {.name = "Slice", .flops = NoFlops, .moved_inputs = 0b1},
    {.name = "SpaceToBatchND", .flops = NoFlops, .moved_inputs = 0b1},
    {.name = "SpaceToDepth", .flops = NoFlops, .moved_inputs = 0b1},
    {.name = "Split", .flops = NoFlops, .moved_inputs = 0b10},
    {.name = "SplitV", .flops = NoFlops, .moved_inputs = 0b1},
    {.name = "Squeeze",
     .rows = ByRowOfFirst,
     .flops = NoFlops,
     .moved_inputs = 0b1,
     .alias = Alias::kYes,
     .may_merge = true},
    {.name = "StridedSlice", .rows = ByRowOfStridedSlice, .flops = NoFlops, .moved_inputs = 0b1, .may_merge = true},
    {.name = "Tile", .flops = NoFlops, .moved_inputs = 0b1, .may_merge = true},
    {.name = "TopKV2", .moved_inputs = 0b1},
    {.name = "Transpose",
     .rows = ByRowOfTranspose,
     .flops = NoFlops,
     .moved_inputs = 0b1,
     .alias = Alias::kIfInOrder,
     .may_merge = true},
    {.name = "Unpack", .flops = NoFlops, .moved_inputs = 0b1},
};

}  // namespace

std::span<const Op> MoveOps() { return kOps; }

}  // namespace longshore::graph
