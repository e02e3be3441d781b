// Kernels that find unique elements, elements that are not zero, elements of one list that are not in another, and
// targets that are among the k largest predictions.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "serving-node/engine/kernels/base/ints.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/sparse/families.h"

namespace longshore::engine::kernels::sparse {
namespace {

template <typename T>
std::string PlainBytes(T value) {
  if (value == T{0}) value = T{0};  // Makes -0.0 and 0.0 equal.
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

// Returns bytes that are equal for two elements if and only if the elements are equal. NaN does not equal any element,
// so its bytes contain `name`, which is different for each element.
std::string KeyOf(const Tensor& values, int64_t at, int64_t name) {
  const auto of_float = [&](auto value) {
    return std::isnan(value) ? "not a number " + std::to_string(name) : PlainBytes(value);
  };
  if (values.type() == DType::kFloat) return of_float(Raw<float>(values)[at]);
  if (values.type() == DType::kDouble) return of_float(Raw<double>(values)[at]);
  if (values.type() == DType::kString) return Raw<std::string>(values)[at];
  const size_t bytes = tensor::ElementBytes(values.type());
  return {reinterpret_cast<const char*>(values.data()) + static_cast<size_t>(at) * bytes, bytes};
}

// A view of a tensor as [outer, count, inner]. Its slices along the middle axis are compared with each other.
struct Slices {
  int64_t outer = 1, count = 0, inner = 1;

  template <typename F>
  void ForEachElement(int64_t slice, F f) const {
    for (int64_t i = 0; i < outer; ++i) {
      for (int64_t k = 0; k < inner; ++k) f((i * count + slice) * inner + k);
    }
  }
};

std::string SliceKey(const Tensor& values, const Slices& slices, int64_t slice) {
  if (slices.outer * slices.inner == 1) return KeyOf(values, slice, slice);
  std::string key;
  slices.ForEachElement(slice, [&](int64_t at) {
    const std::string part = KeyOf(values, at, at);
    key += std::to_string(part.size()) + ":" + part;
  });
  return key;
}

struct Distinct {
  std::vector<int64_t> firsts, ids, counts;
};

Distinct DistinctOf(const Tensor& values, const Slices& slices) {
  Distinct distinct;
  std::unordered_map<std::string, int64_t> seen;
  for (int64_t i = 0; i < slices.count; ++i) {
    const auto [at, is_new] = seen.emplace(SliceKey(values, slices, i), static_cast<int64_t>(distinct.firsts.size()));
    if (is_new) {
      distinct.firsts.push_back(i);
      distinct.counts.push_back(0);
    }
    distinct.ids.push_back(at->second);
    ++distinct.counts[static_cast<size_t>(at->second)];
  }
  return distinct;
}

Result<Tensor> TakeSlices(const Tensor& values, const Slices& slices, const std::vector<int64_t>& taken, Shape shape) {
  ASSIGN_OR_RETURN(Tensor out, MakeLike(values, std::move(shape)));
  const Slices to{slices.outer, static_cast<int64_t>(taken.size()), slices.inner};
  const auto made = ForMoves(values.type(), [&](auto tag) -> Outputs {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < taken.size(); ++i) {
      for (int64_t k = 0; k < slices.outer; ++k) {
        const T* from = Raw<T>(values) + (k * slices.count + taken[i]) * slices.inner;
        std::copy_n(from, slices.inner, Raw<T>(out) + (k * to.count + static_cast<int64_t>(i)) * to.inner);
      }
    }
    return One(out);
  });
  if (!made) return tl::make_unexpected(made.error());
  return out;
}

Outputs UniqueAlong(const Call& call, int axis, bool with_counts) {
  const Tensor& values = call.in(0);
  if (values.type() != DType::kString && tensor::ElementBytes(values.type()) == 0) return WrongType(values.type());
  Shape shape = values.shape();
  const auto at = static_cast<size_t>(axis);
  const Slices slices{Product(shape, 0, at), shape[at], Product(shape, at + 1, shape.size())};
  const Distinct distinct = DistinctOf(values, slices);
  shape[at] = static_cast<int64_t>(distinct.firsts.size());
  const DType index_type = call.attributes().Type("out_idx", DType::kInt32);
  ASSIGN_OR_RETURN(Tensor out, TakeSlices(values, slices, distinct.firsts, shape));
  ASSIGN_OR_RETURN(Tensor ids, IntTensor(index_type, {slices.count}, distinct.ids));
  std::vector<Tensor> outputs = {out, ids};
  if (with_counts) {
    ASSIGN_OR_RETURN(Tensor counts, IntTensor(index_type, {shape[at]}, distinct.counts));
    outputs.push_back(std::move(counts));
  }
  return outputs;
}

template <bool kWithCounts>
Outputs Unique(const Call& call) {
  if (call.in(0).rank() != 1)
    return InvalidArgument("unique expects a 1D vector, not {}", ToString(call.in(0).shape()));
  return UniqueAlong(call, 0, kWithCounts);
}

template <bool kWithCounts>
Outputs UniqueV2(const Call& call) {
  ASSIGN_OR_RETURN(const auto axes, IntsOf(call.in(1), "axis"));
  if (axes.empty()) return Unique<kWithCounts>(call);
  if (axes.size() > 1 || call.in(1).rank() != 1) return InvalidArgument("axis must be a vector of at most one number");
  ASSIGN_OR_RETURN(const int axis, AxisOf(axes[0], call.in(0).rank()));
  return UniqueAlong(call, axis, kWithCounts);
}

// For each element, true if it is not zero. NaN counts as not zero.
std::vector<bool> TruthOf(const Tensor& values) {
  std::vector<bool> truth(static_cast<size_t>(values.elements()));
  const size_t bytes = tensor::ElementBytes(values.type());
  for (size_t i = 0; i < truth.size(); ++i) {
    if (values.type() == DType::kFloat)
      truth[i] = Raw<float>(values)[i] != 0;
    else if (values.type() == DType::kDouble)
      truth[i] = Raw<double>(values)[i] != 0;
    else
      truth[i] = std::any_of(values.data() + i * bytes, values.data() + (i + 1) * bytes,
                             [](std::byte byte) { return byte != std::byte{0}; });
  }
  return truth;
}

// Returns the coordinates of all elements that are not zero, in row-major order.
Outputs Where(const Call& call) {
  const Tensor& in = call.in(0);
  const auto rank = static_cast<int64_t>(in.rank());
  if (tensor::ElementBytes(in.type()) == 0) return WrongType(in.type());
  if (rank == 0) return InvalidArgument("condition must have a dimension");
  const auto truth = TruthOf(in);
  const int64_t count = std::ranges::count(truth, true);
  RETURN_IF_ERROR(call.HasRoomFor(DType::kInt64, {count, rank}));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kInt64, {count, rank}));
  int64_t* to = Raw<int64_t>(out);
  for (size_t i = 0; i < truth.size(); ++i) {
    if (!truth[i]) continue;
    auto left = static_cast<int64_t>(i);
    for (int64_t axis = rank; axis-- > 0; left /= in.dim(static_cast<int>(axis)))
      to[axis] = left % in.dim(static_cast<int>(axis));
    to += rank;
  }
  return One(out);
}

// Returns the elements of x that are not in y, and their indices in x.
Outputs ListDiff(const Call& call) {
  const Tensor& x = call.in(0);
  if (x.rank() != 1 || call.in(1).rank() != 1 || x.type() != call.in(1).type())
    return InvalidArgument("x and y must be vectors of one type");
  if (x.type() != DType::kString && tensor::ElementBytes(x.type()) == 0) return WrongType(x.type());
  std::unordered_set<std::string> other;
  for (int64_t i = 0; i < call.in(1).elements(); ++i) other.insert(KeyOf(call.in(1), i, -1 - i));
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < x.elements(); ++i) {
    const std::string key = KeyOf(x, i, i);
    if (!other.contains(key)) kept.push_back(i);
  }
  const auto count = static_cast<int64_t>(kept.size());
  ASSIGN_OR_RETURN(Tensor out, TakeSlices(x, {1, x.elements(), 1}, kept, {count}));
  ASSIGN_OR_RETURN(Tensor indices, IntTensor(call.attributes().Type("out_idx", DType::kInt32), {count}, kept));
  return std::vector<Tensor>{out, indices};
}

// Returns true if fewer than k classes have a higher score than the target; false if any score is not finite.
bool IsAmongTop(const float* scores, int64_t classes, int64_t target, int64_t k) {
  if (target < 0 || target >= classes) return false;
  if (!std::all_of(scores, scores + classes, [](float score) { return std::isfinite(score); })) return false;
  return std::count_if(scores, scores + classes, [&](float score) { return score > scores[target]; }) < k;
}

Outputs TopOf(const Call& call, int64_t k) {
  const Tensor& scores = call.in(0);
  ASSIGN_OR_RETURN(const auto targets, AllIntsOf(call.in(1), "targets"));
  if (scores.type() != DType::kFloat || scores.rank() != 2 || call.in(1).rank() != 1 ||
      scores.dim(0) != call.in(1).elements()) {
    return InvalidArgument("predictions {} must be a matrix of floats with a row for each of the targets {}",
                           ToString(scores.shape()), ToString(call.in(1).shape()));
  }
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kBool, {scores.dim(0)}));
  for (int64_t i = 0; i < scores.dim(0); ++i) {
    Raw<bool>(out)[i] =
        IsAmongTop(Raw<float>(scores) + i * scores.dim(1), scores.dim(1), targets[static_cast<size_t>(i)], k);
  }
  return One(out);
}

Outputs InTopK(const Call& call) { return TopOf(call, call.attributes().Int("k", 0)); }

Outputs InTopKV2(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t k, IntOf(call.in(2), "k"));
  return TopOf(call, k);
}

constexpr Kernel kKernels[] = {
    {.op = "InTopK", .compute = InTopK, .inputs_min = 2},
    {.op = "InTopKV2", .compute = InTopKV2, .inputs_min = 3},
    {.op = "ListDiff", .compute = ListDiff, .inputs_min = 2},
    {.op = "Unique", .compute = Unique<false>, .inputs_min = 1},
    {.op = "UniqueV2", .compute = UniqueV2<false>, .inputs_min = 2},
    {.op = "UniqueWithCounts", .compute = Unique<true>, .inputs_min = 1},
    {.op = "UniqueWithCountsV2", .compute = UniqueV2<true>, .inputs_min = 2},
    {.op = "Where", .compute = Where, .inputs_min = 1},
};

}  // namespace

std::span<const Kernel> SetKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::sparse
