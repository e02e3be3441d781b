// Counts how often each integer occurs in a tensor (Bincount), and maps numbers to buckets (Bucketize).
#include <algorithm>

#include "serving-node/engine/kernels/base/ints.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/sparse/families.h"

namespace longshore::engine::kernels::sparse {
namespace {

// The numbers that are counted. Each of them is counted in one row of the result.
struct Counted {
  std::vector<int64_t> numbers;
  std::vector<int64_t> rows;  // For each number, the row in which it is counted.
  Shape shape;                // The shape of the result: [bins] or [rows, bins].
  int64_t bins = 0;
};

Result<int64_t> BinsOf(const Tensor& size) {
  ASSIGN_OR_RETURN(const int64_t bins, IntOf(size, "size"));
  if (size.rank() != 0) return InvalidArgument("size must be a scalar, not of rank {}", size.rank());
  if (bins < 0) return InvalidArgument("size must be non-negative, not {}", bins);
  return bins;
}

// Adds to the bin of each number the number's weight, or 1 if there are no weights. If `binary`, the bin of a number
// that occurs is 1 instead.
Outputs Count(const Call& call, const Counted& counted, const Tensor& weights, bool binary) {
  const bool has_weights = weights.elements() > 0;
  if (has_weights && weights.elements() != static_cast<int64_t>(counted.numbers.size()))
    return InvalidArgument("weights {} do not match the {} numbers", ToString(weights.shape()), counted.numbers.size());
  RETURN_IF_ERROR(call.HasRoomFor(weights.type(), counted.shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(weights, counted.shape));
  return ForNumbers(weights.type(), [&](auto tag) -> Outputs {
    using T = typename decltype(tag)::type;
    using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
    std::fill_n(Raw<T>(out), out.elements(), T{0});
    for (size_t i = 0; i < counted.numbers.size(); ++i) {
      const int64_t number = counted.numbers[i];
      if (number < 0) return InvalidArgument("Input must be non-negative, but number {} is {}", i, number);
      if (number >= counted.bins) continue;
      T& sum = Raw<T>(out)[counted.rows[i] * counted.bins + number];
      sum = binary ? T{1}
                   : static_cast<T>(static_cast<Sum>(sum) + static_cast<Sum>(has_weights ? Raw<T>(weights)[i] : T{1}));
    }
    return One(out);
  });
}

Outputs Bincount(const Call& call) {
  Counted counted;
  ASSIGN_OR_RETURN(counted.numbers, AllIntsOf(call.in(0), "arr"));
  ASSIGN_OR_RETURN(counted.bins, BinsOf(call.in(1)));
  if (call.in(2).elements() > 0 && call.in(2).shape() != call.in(0).shape())
    return InvalidArgument("weights {} must have the shape of arr {}", ToString(call.in(2).shape()),
                           ToString(call.in(0).shape()));
  counted.rows.resize(counted.numbers.size());
  counted.shape = {counted.bins};
  return Count(call, counted, call.in(2), false);
}

bool IsBinary(const Call& call) { return call.attributes().Bool("binary_output", false); }

Outputs DenseBincount(const Call& call) {
  Counted counted;
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(counted.numbers, AllIntsOf(in, "input"));
  ASSIGN_OR_RETURN(counted.bins, BinsOf(call.in(1)));
  if (in.rank() > 2) return InvalidArgument("input must be of rank 2 at most, not {}", ToString(in.shape()));
  if (call.in(2).elements() > 0 && call.in(2).shape() != in.shape())
    return InvalidArgument("weights {} must have the shape of input {}", ToString(call.in(2).shape()),
                           ToString(in.shape()));
  counted.shape = in.rank() == 2 ? Shape{in.dim(0), counted.bins} : Shape{counted.bins};
  for (int64_t i = 0; i < in.elements(); ++i) counted.rows.push_back(in.rank() == 2 ? i / in.dim(1) : 0);
  return Count(call, counted, call.in(2), IsBinary(call));
}

Outputs RaggedBincount(const Call& call) {
  Counted counted;
  ASSIGN_OR_RETURN(const auto splits, AllIntsOf(call.in(0), "splits"));
  ASSIGN_OR_RETURN(counted.numbers, AllIntsOf(call.in(1), "values"));
  ASSIGN_OR_RETURN(counted.bins, BinsOf(call.in(2)));
  RETURN_IF_ERROR(CheckSplits(splits, call.in(1).elements()));
  const auto rows = static_cast<int64_t>(splits.size()) - 1;
  for (int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<size_t>(row);
    counted.rows.insert(counted.rows.end(), static_cast<size_t>(splits[at + 1] - splits[at]), row);
  }
  counted.shape = {rows, counted.bins};
  return Count(call, counted, call.in(3), IsBinary(call));
}

// Counts the values of a sparse vector, or of each row of a sparse matrix.
Outputs SparseBincount(const Call& call) {
  Counted counted;
  const Tensor& indices = call.in(0);
  ASSIGN_OR_RETURN(const auto places, AllIntsOf(indices, "indices"));
  ASSIGN_OR_RETURN(counted.numbers, AllIntsOf(call.in(1), "values"));
  ASSIGN_OR_RETURN(const auto shape, IntsOf(call.in(2), "dense_shape"));
  ASSIGN_OR_RETURN(counted.bins, BinsOf(call.in(3)));
  if (shape.empty() || shape.size() > 2 || indices.rank() != 2 ||
      indices.dim(0) != static_cast<int64_t>(counted.numbers.size()) ||
      indices.dim(1) != static_cast<int64_t>(shape.size())) {
    return InvalidArgument("indices {} do not fit {} values in {} dimensions (1 or 2 are possible)",
                           ToString(indices.shape()), counted.numbers.size(), shape.size());
  }
  counted.shape = shape.size() == 2 ? Shape{shape[0], counted.bins} : Shape{counted.bins};
  for (size_t i = 0; i < counted.numbers.size(); ++i) {
    const int64_t row = shape.size() == 2 ? places[2 * i] : 0;
    if (shape.size() == 2 && (row < 0 || row >= shape[0]))
      return InvalidArgument("indices has the row {}, which is not in [0, {})", row, shape[0]);
    counted.rows.push_back(row);
  }
  return Count(call, counted, call.in(4), IsBinary(call));
}

// Returns for each number how many boundaries are less than or equal to it.
Outputs Bucketize(const Call& call) {
  const auto* attribute = call.attributes().Find("boundaries");
  std::vector<float> boundaries;
  if (attribute != nullptr) boundaries.assign(attribute->list().f().begin(), attribute->list().f().end());
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kInt32, call.in(0).shape()));
  return ForNumbers(call.in(0).type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::transform(Raw<T>(call.in(0)), Raw<T>(call.in(0)) + out.elements(), Raw<int32_t>(out), [&](T number) {
      return static_cast<int32_t>(std::upper_bound(boundaries.begin(), boundaries.end(), number) - boundaries.begin());
    });
    return One(out);
  });
}

Status CheckBoundaries(const graph::Node& node) {
  const auto* attribute = node.attributes.Find("boundaries");
  if (attribute == nullptr || std::ranges::is_sorted(attribute->list().f())) return {};
  return Unimplemented("boundaries that are not sorted");
}

constexpr TypeSet kCountable = kFloats | Only(DType::kInt32) | Only(DType::kInt64);

constexpr Kernel kKernels[] = {
    {.op = "Bincount", .compute = Bincount, .inputs_min = 3, .types = kCountable},
    {.op = "Bucketize", .compute = Bucketize, .inputs_min = 1, .types = kCountable, .check = CheckBoundaries},
    {.op = "DenseBincount", .compute = DenseBincount, .inputs_min = 3, .types = kCountable},
    {.op = "RaggedBincount", .compute = RaggedBincount, .inputs_min = 4, .types = kCountable},
    {.op = "SparseBincount", .compute = SparseBincount, .inputs_min = 5, .types = kCountable},
};

}  // namespace

std::span<const Kernel> CountKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::sparse
