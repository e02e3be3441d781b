// Ops that move elements, or read only shapes. The values of the latter are known if their inputs have known shapes.
#include <algorithm>
#include <optional>
#include <utility>

#include "serving-node/graph/array_rules.h"
#include "serving-node/graph/op_families.h"
#include "serving-node/graph/row_rules.h"
#include "serving-node/graph/shapes.h"

namespace longshore::graph {
namespace {

using tensor::DType;
using tensor::Shape;

std::vector<Type> One(DType type, std::optional<Shape> shape) { return {{type, std::move(shape), std::nullopt}}; }

// The blocks of SpaceToBatch and BatchToSpace, with what is padded or cropped at both ends of each cut axis.
struct Blocks {
  std::vector<int64_t> sizes, ends;
};

std::optional<Blocks> BlocksOf(const Node& node, std::span<const Type> inputs) {
  Blocks blocks;
  const bool is_for_images = !node.op.ends_with("ND");
  const auto sizes = is_for_images ? std::vector<int64_t>(2, node.attributes.Int("block_size", 2))
                                   : VectorIn(At(inputs, 1)).value_or(std::vector<int64_t>());
  const Type& outside = At(inputs, is_for_images ? 1 : 2);
  const auto ends = IntsIn(outside);
  const bool fits = ends && outside.value->rank() == 2 && !sizes.empty() && ends->size() == 2 * sizes.size();
  const bool is_vector = is_for_images || At(inputs, 1).value->rank() == 1;
  const auto in_range = [](int64_t low) { return [low](int64_t n) { return n >= low && n <= INT32_MAX; }; };
  if (!fits || !is_vector || !std::ranges::all_of(sizes, in_range(1)) || !std::ranges::all_of(*ends, in_range(0)))
    return std::nullopt;
  return Blocks{sizes, *ends};
}

std::optional<int64_t> AllOf(const std::vector<int64_t>& blocks) {
  std::optional<int64_t> all = 1;
  for (const int64_t block : blocks) all = all ? Times(*all, block) : std::nullopt;
  return all;
}

bool FitsBlocks(const Node& node, const Type& input, const Blocks& blocks) {
  return input.shape && input.shape->size() > blocks.sizes.size() &&
         (node.op.ends_with("ND") || input.shape->size() == 4);
}

bool IsNhwc(const Node& node) { return node.attributes.Text("data_format", "NHWC") == "NHWC"; }

std::vector<Type> SpaceToBatchType(const Node& node, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  const auto blocks = BlocksOf(node, inputs);
  if (!blocks || !FitsBlocks(node, input, *blocks)) return One(input.type, std::nullopt);
  Shape shape = *input.shape;
  const auto all = AllOf(blocks->sizes);
  const auto batch = all ? Times(shape[0], *all) : std::nullopt;
  if (!batch) return One(input.type, std::nullopt);
  shape[0] = *batch;
  for (size_t i = 0; i < blocks->sizes.size(); ++i) {
    const auto padded = Plus(shape[i + 1], blocks->ends[2 * i] + blocks->ends[2 * i + 1]);
    const auto size = padded ? DividedBy(*padded, blocks->sizes[i]) : std::nullopt;
    if (!size) return One(input.type, std::nullopt);
    shape[i + 1] = *size;
  }
  return One(input.type, std::move(shape));
}

std::vector<Type> BatchToSpaceType(const Node& node, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  const auto blocks = BlocksOf(node, inputs);
  if (!blocks || !FitsBlocks(node, input, *blocks)) return One(input.type, std::nullopt);
  Shape shape = *input.shape;
  const auto all = AllOf(blocks->sizes);
  const auto batch = all ? DividedBy(shape[0], *all) : std::nullopt;
  if (!batch) return One(input.type, std::nullopt);
  shape[0] = *batch;
  for (size_t i = 0; i < blocks->sizes.size(); ++i) {
    const auto whole = Times(shape[i + 1], blocks->sizes[i]);
    const int64_t crops = blocks->ends[2 * i] + blocks->ends[2 * i + 1];
    if (!whole || (*whole >= 0 && *whole < crops)) return One(input.type, std::nullopt);
    shape[i + 1] = *whole < 0 ? -1 : *whole - crops;
  }
  return One(input.type, std::move(shape));
}

std::vector<Type> SpaceToDepthType(const Node& node, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  const int64_t block = node.attributes.Int("block_size", 2);
  if (!input.shape || input.shape->size() != 4 || !IsNhwc(node) || block < 2) return One(input.type, std::nullopt);
  const Shape& in = *input.shape;
  const auto rows = DividedBy(in[1], block), columns = DividedBy(in[2], block), channels = Times(in[3], block * block);
  if (!rows || !columns || !channels) return One(input.type, std::nullopt);
  return One(input.type, Shape{in[0], *rows, *columns, *channels});
}

std::vector<Type> DepthToSpaceType(const Node& node, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  const int64_t block = node.attributes.Int("block_size", 2);
  if (!input.shape || input.shape->size() != 4 || !IsNhwc(node) || block < 2) return One(input.type, std::nullopt);
  const Shape& in = *input.shape;
  const auto rows = Times(in[1], block), columns = Times(in[2], block), channels = DividedBy(in[3], block * block);
  if (!rows || !columns || !channels) return One(input.type, std::nullopt);
  return One(input.type, Shape{in[0], *rows, *columns, *channels});
}

// Nearest neighbours are copied; every other method computes floats.
std::vector<Type> ResizeType(const Node& node, std::span<const Type> inputs) {
  const Type& image = At(inputs, 0);
  const DType type = node.op == "ResizeNearestNeighbor" ? image.type : DType::kFloat;
  if (!image.shape || image.shape->size() != 4) return One(type, std::nullopt);
  const auto size = VectorIn(At(inputs, 1));
  if (size && (size->size() != 2 || (*size)[0] < 1 || (*size)[1] < 1)) return One(type, std::nullopt);
  const bool is_empty = (*image.shape)[1] == 0 || (*image.shape)[2] == 0;
  if (is_empty) return One(type, std::nullopt);
  return One(type, Shape{(*image.shape)[0], size ? (*size)[0] : -1, size ? (*size)[1] : -1, (*image.shape)[3]});
}

// One crop for each box, of the size in the last input.
std::vector<Type> CropAndResizeType(const Node& /*node*/, std::span<const Type> inputs) {
  const auto& image = At(inputs, 0).shape;
  const auto& boxes = At(inputs, 1).shape;
  const auto size = VectorIn(At(inputs, 3));
  const bool fits = image && image->size() == 4 && boxes && boxes->size() == 2 && (!size || size->size() == 2);
  if (!fits) return One(DType::kFloat, std::nullopt);
  return One(DType::kFloat, Shape{boxes->front(), size ? (*size)[0] : -1, size ? (*size)[1] : -1, image->back()});
}

constexpr Op kOps[] = {
    {.name = "BatchToSpace", .type = BatchToSpaceType, .flops = NoFlops},
    {.name = "BatchToSpaceND", .type = BatchToSpaceType, .flops = NoFlops},
    {.name = "BroadcastTo", .type = BroadcastToType, .flops = NoFlops, .may_merge = true},
    {.name = "Concat", .type = ConcatType, .flops = NoFlops},
    {.name = "ConcatV2", .type = ConcatV2Type, .rows = ByRowOfConcat, .flops = NoFlops},
    {.name = "CropAndResize", .type = CropAndResizeType},
    {.name = "DepthToSpace", .type = DepthToSpaceType, .flops = NoFlops},
    {.name = "ExpandDims",
     .type = ExpandDimsType,
     .rows = ByRowOfFirst,
     .flops = NoFlops,
     .alias = Alias::kYes,
     .may_merge = true},
    {.name = "Fill", .type = FillType, .flops = NoFlops, .may_merge = true},
    {.name = "Gather", .type = GatherType, .flops = NoFlops},
    {.name = "GatherNd", .type = GatherNdType, .flops = NoFlops},
    {.name = "GatherV2", .type = GatherType, .rows = ByRowOfGather, .flops = NoFlops, .may_merge = true},
    {.name = "IdentityN", .type = IdentityNType, .flops = NoFlops, .is_identity = true},
    {.name = "MatrixBandPart", .type = LikeFirst, .flops = NoFlops, .may_merge = true},
    {.name = "MirrorPad", .type = PadType, .rows = ByRowOfFirst, .flops = NoFlops},
    {.name = "OneHot", .type = OneHotType, .flops = NoFlops, .may_merge = true},
    {.name = "Pack", .type = PackType, .flops = NoFlops, .may_merge = true},
    {.name = "Pad", .type = PadType, .rows = ByRowOfFirst, .flops = NoFlops},
    {.name = "PadV2", .type = PadType, .rows = ByRowOfFirst, .flops = NoFlops},
    {.name = "Range", .may_merge = true},
    {.name = "Rank", .flops = NoFlops, .reads_shapes = true},
    {.name = "Reshape",
     .type = ReshapeType,
     .rows = ByRowOfReshape,
     .flops = NoFlops,
     .alias = Alias::kYes,
     .may_merge = true},
    {.name = "ResizeArea", .type = ResizeType},
    {.name = "ResizeBicubic", .type = ResizeType},
    {.name = "ResizeBilinear", .type = ResizeType, .rows = ByRowOfFirst},
    {.name = "ResizeNearestNeighbor", .type = ResizeType, .rows = ByRowOfFirst, .flops = NoFlops},
    {.name = "Roll", .type = LikeFirst, .flops = NoFlops},
    {.name = "ScatterNd", .type = ScatterNdType, .flops = NoFlops},
    {.name = "Shape", .flops = NoFlops, .may_merge = true, .reads_shapes = true},
    {.name = "ShapeN", .flops = NoFlops, .reads_shapes = true},
    {.name = "Size", .flops = NoFlops, .reads_shapes = true},
    {.name = "Slice", .type = SliceType, .flops = NoFlops},
    {.name = "SpaceToBatch", .type = SpaceToBatchType, .flops = NoFlops},
    {.name = "SpaceToBatchND", .type = SpaceToBatchType, .flops = NoFlops},
    {.name = "SpaceToDepth", .type = SpaceToDepthType, .flops = NoFlops},
    {.name = "Split", .type = SplitType, .flops = NoFlops},
    {.name = "SplitV", .type = SplitVType, .flops = NoFlops},
    {.name = "Squeeze",
     .type = SqueezeType,
     .rows = ByRowOfFirst,
     .flops = NoFlops,
     .alias = Alias::kYes,
     .may_merge = true},
    {.name = "StridedSlice",
     .type = StridedSliceType,
     .rows = ByRowOfStridedSlice,
     .flops = NoFlops,
     .may_merge = true},
    {.name = "Tile", .type = TileType, .flops = NoFlops, .may_merge = true},
    {.name = "TopKV2", .type = TopKType},
    {.name = "Transpose",
     .type = TransposeType,
     .rows = ByRowOfTranspose,
     .flops = NoFlops,
     .alias = Alias::kIfInOrder,
     .may_merge = true},
    {.name = "Unpack", .type = UnpackType, .flops = NoFlops},
    {.name = "UnsortedSegmentMax", .type = SegmentsType},
    {.name = "UnsortedSegmentMin", .type = SegmentsType},
    {.name = "UnsortedSegmentProd", .type = SegmentsType},
    {.name = "UnsortedSegmentSum", .type = SegmentsType},
};

}  // namespace

std::span<const Op> MoveOps() { return kOps; }

}  // namespace longshore::graph
