// Kernels that move blocks of image places to the batch (SpaceToBatch) or to the channels (SpaceToDepth), and back.
#include <algorithm>
#include <numeric>

#include "serving-node/engine/kernels/arrays/families.h"
#include "serving-node/engine/kernels/base/types.h"

namespace longshore::engine::kernels::arrays {
namespace {

// One axis that is cut into blocks. `before` and `after` are the numbers of places that are added as padding, or
// cropped, at its ends.
struct Cut {
  int64_t block = 1;
  int64_t before = 0;
  int64_t after = 0;
};

Result<std::vector<Cut>> CutsOf(const Tensor& in, std::vector<int64_t> blocks, const Tensor& outside) {
  ASSIGN_OR_RETURN(const Tensor flat, outside.Reshaped({outside.elements()}));
  ASSIGN_OR_RETURN(const auto ends, IntsOf(flat, "paddings or crops", 2 * tensor::kRankMax));
  if (outside.rank() != 2 || ends.size() != 2 * blocks.size() || in.shape().size() < blocks.size() + 1)
    return InvalidArgument("block_shape {} and paddings or crops {} do not fit the shape {}", ToString(blocks),
                           ToString(ends), ToString(in.shape()));
  constexpr int64_t kMax = INT32_MAX;
  std::vector<Cut> cuts;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Cut cut{blocks[i], ends[2 * i], ends[2 * i + 1]};
    if (cut.block < 1 || cut.block > kMax) return InvalidArgument("block_shape {} is out of range", ToString(blocks));
    if (cut.before < 0 || cut.before > kMax || cut.after < 0 || cut.after > kMax)
      return InvalidArgument("paddings or crops {} are out of range", ToString(ends));
    cuts.push_back(cut);
  }
  return cuts;
}

Result<int64_t> BlockSize(const std::vector<Cut>& cuts) {
  int64_t size = 1;
  for (const Cut& cut : cuts) {
    if (__builtin_mul_overflow(size, cut.block, &size)) return InvalidArgument("block_shape is too large");
  }
  return size;
}

// Calls pair(block_row, place_row) for each row of the blocked tensor; place_row is -1 if the place is padding or
// cropped. A row spans all axes after the cut axes. `blocks` is the shape [block, batch, cut sizes...] and `places` the
// shape [batch, sizes...]; the caller copies in either direction.
template <typename F>
void ForEachPair(const Shape& blocks, const Shape& places, const std::vector<Cut>& cuts, F pair) {
  const int64_t batch = places[0];
  const int64_t rows = Product(blocks, 0, cuts.size() + 1);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t left = row, offset = 0, stride = 1;
    std::vector<int64_t> at(cuts.size());
    for (size_t i = cuts.size(); i-- > 0; left /= blocks[i + 1]) at[i] = left % blocks[i + 1];
    int64_t in_block = left / batch;
    bool is_inside = true;
    for (size_t i = cuts.size(); i-- > 0; in_block /= cuts[i].block, stride *= places[i + 1]) {
      const int64_t place = at[i] * cuts[i].block + in_block % cuts[i].block - cuts[i].before;
      is_inside = is_inside && place >= 0 && place < places[i + 1];
      offset += place * stride;
    }
    pair(row, is_inside ? left % batch * stride + offset : -1);
  }
}

Outputs SpaceToBatch(const Call& call, const std::vector<int64_t>& block_shape, const Tensor& paddings) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const auto cuts, CutsOf(in, block_shape, paddings));
  ASSIGN_OR_RETURN(const int64_t block, BlockSize(cuts));
  Shape shape = in.shape();
  if (__builtin_mul_overflow(shape[0], block, &shape[0]))
    return InvalidArgument("the batch would have too many blocks");
  for (size_t i = 0; i < cuts.size(); ++i) {
    const int64_t padded = in.shape()[i + 1] + cuts[i].before + cuts[i].after;
    if (padded % cuts[i].block != 0)
      return InvalidArgument("padded_shape[{}]={} is not divisible by block_shape[{}]={}", i, padded, i, cuts[i].block);
    shape[i + 1] = padded / cuts[i].block;
  }
  RETURN_IF_ERROR(call.HasRoomFor(in.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, shape));
  const int64_t inner = Product(shape, cuts.size() + 1, shape.size());
  return ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (out.elements() == 0) return One(out);
    ForEachPair(shape, in.shape(), cuts, [&](int64_t row, int64_t place) {
      if (place < 0)
        std::fill_n(Raw<T>(out) + row * inner, inner, T{});
      else
        std::copy_n(Raw<T>(in) + place * inner, inner, Raw<T>(out) + row * inner);
    });
    return One(out);
  });
}

Outputs BatchToSpace(const Call& call, const std::vector<int64_t>& block_shape, const Tensor& crops) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const auto cuts, CutsOf(in, block_shape, crops));
  ASSIGN_OR_RETURN(const int64_t block, BlockSize(cuts));
  Shape shape = in.shape();
  if (shape[0] % block != 0)
    return InvalidArgument("the batch size {} is not divisible by the block size {}", shape[0], block);
  shape[0] /= block;
  for (size_t i = 0; i < cuts.size(); ++i) {
    int64_t whole = 0;
    if (__builtin_mul_overflow(shape[i + 1], cuts[i].block, &whole) || whole < cuts[i].before + cuts[i].after)
      return InvalidArgument("crops {} and {} of the size {} leave a negative size", cuts[i].before, cuts[i].after,
                             whole);
    shape[i + 1] = whole - cuts[i].before - cuts[i].after;
  }
  RETURN_IF_ERROR(call.HasRoomFor(in.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, shape));
  const int64_t inner = Product(shape, cuts.size() + 1, shape.size());
  return ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (out.elements() == 0) return One(out);
    ForEachPair(in.shape(), shape, cuts, [&](int64_t row, int64_t place) {
      if (place >= 0) std::copy_n(Raw<T>(in) + row * inner, inner, Raw<T>(out) + place * inner);
    });
    return One(out);
  });
}

using Move = Outputs (*)(const Call& call, const std::vector<int64_t>& block_shape, const Tensor& outside);

template <Move kMove>
Outputs ForNd(const Call& call) {
  if (call.in(1).rank() != 1) return InvalidArgument("block_shape must be a vector");
  ASSIGN_OR_RETURN(const auto block_shape, IntsOf(call.in(1), "block_shape"));
  return kMove(call, block_shape, call.in(2));
}

// The older ops SpaceToBatch and BatchToSpace: for images only, with one block size for height and width.
template <Move kMove>
Outputs ForImages(const Call& call) {
  if (call.in(0).rank() != 4)
    return InvalidArgument("input must be of rank 4, not of shape {}", ToString(call.in(0).shape()));
  return kMove(call, std::vector<int64_t>(2, call.attributes().Int("block_size", 2)), call.in(1));
}

// SpaceToDepth and DepthToSpace: loops over the places of the wide image. The row and the column of a place within its
// block choose its channels in the deep image.
template <bool kToDepth>
Outputs Deepen(const Tensor& in, int64_t block, const Shape& shape) {
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, shape));
  const Shape& wide = kToDepth ? in.shape() : shape;
  const Shape& deep = kToDepth ? shape : in.shape();
  const int64_t channels = wide[3];
  return ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t place = 0; place < (out.elements() == 0 ? 0 : wide[0] * wide[1] * wide[2]); ++place) {
      const int64_t x = place % wide[2], y = place / wide[2] % wide[1], image = place / wide[2] / wide[1];
      const int64_t in_block = y % block * block + x % block;
      const int64_t deep_at = ((image * deep[1] + y / block) * deep[2] + x / block) * deep[3] + in_block * channels;
      const int64_t from = kToDepth ? place * channels : deep_at, to = kToDepth ? deep_at : place * channels;
      std::copy_n(Raw<T>(in) + from, channels, Raw<T>(out) + to);
    }
    return One(out);
  });
}

Outputs SpaceToDepth(const Call& call) {
  const Tensor& in = call.in(0);
  const int64_t block = call.attributes().Int("block_size", 2);
  if (in.rank() != 4 || in.dim(1) % block != 0 || in.dim(2) % block != 0)
    return InvalidArgument("input {} must have rank 4, and height and width divisible into blocks of {} by {}",
                           ToString(in.shape()), block, block);
  return Deepen<true>(in, block, {in.dim(0), in.dim(1) / block, in.dim(2) / block, in.dim(3) * block * block});
}

Outputs DepthToSpace(const Call& call) {
  const Tensor& in = call.in(0);
  const int64_t block = call.attributes().Int("block_size", 2);
  if (in.rank() != 4 || in.dim(3) % (block * block) != 0)
    return InvalidArgument(
        "input {} must have rank 4, and a number of channels divisible by {}, the square of block_size",
        ToString(in.shape()), block * block);
  return Deepen<false>(in, block, {in.dim(0), in.dim(1) * block, in.dim(2) * block, in.dim(3) / (block * block)});
}

Status CheckBlock(const graph::Node& node) {
  const std::string format = node.attributes.Text("data_format", "NHWC");
  if (format != "NHWC") return Unimplemented("{} with data_format {}", node.op, format);
  const int64_t block = node.attributes.Int("block_size", 2);
  if (block < 2 || block > (1 << 15)) return Unimplemented("{} with block_size {}", node.op, block);
  return {};
}

constexpr Kernel kKernels[] = {
    {"BatchToSpace", ForImages<BatchToSpace>, 2},
    {"BatchToSpaceND", ForNd<BatchToSpace>, 3},
    {"DepthToSpace", DepthToSpace, 1, kAnyType, CheckBlock},
    {"SpaceToBatch", ForImages<SpaceToBatch>, 2},
    {"SpaceToBatchND", ForNd<SpaceToBatch>, 3},
    {"SpaceToDepth", SpaceToDepth, 1, kAnyType, CheckBlock},
};

}  // namespace

std::span<const Kernel> BlockKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::arrays
