// Diagonals of matrices. Diagonal d has the elements (i, i + d): it is above the main diagonal if d > 0.
#include <algorithm>

#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/math/families.h"

namespace longshore::engine::kernels::math {
namespace {

// A band of adjacent diagonals. Its packed form has one row for each diagonal, the highest diagonal first. Each row has
// the length of the longest diagonal.
struct Band {
  int64_t low = 0, high = 0;
  int64_t rows = 0, columns = 0;  // The size of each matrix.
  // If true, short diagonals above the main one are aligned left in their rows; otherwise right. `lefts_below` is the
  // same for those below.
  bool lefts_above = true;
  bool lefts_below = true;

  int64_t count() const { return high - low + 1; }
  int64_t length(int64_t d) const {
    return std::max<int64_t>(std::min(rows + std::min<int64_t>(d, 0), columns - std::max<int64_t>(d, 0)), 0);
  }
  int64_t packed_length() const {
    return std::max<int64_t>(std::min(rows + std::min<int64_t>(high, 0), columns - std::max<int64_t>(low, 0)), 0);
  }
  // The index in its packed row where diagonal d begins.
  int64_t offset(int64_t d) const {
    const bool is_left = (d >= 0 && lefts_above) || (d <= 0 && lefts_below);
    return is_left ? 0 : packed_length() - length(d);
  }
};

// The band that an op works on. The first version of an op (`k` is nullptr) works on the main diagonal, and V2 on the
// diagonals `k`. V3 also aligns the diagonals by the attribute "align".
Result<Band> BandOf(const Call& call, const Tensor* k) {
  Band band;
  if (k == nullptr) return band;
  ASSIGN_OR_RETURN(const auto ends, IntsOf(*k, "k", 2));
  if (ends.empty() || k->type() != DType::kInt32) return InvalidArgument("k must be one or two DT_INT32");
  band.low = ends.front();
  band.high = ends.back();
  if (band.low > band.high) return InvalidArgument("lower_diag_index {} is above upper {}", band.low, band.high);
  const bool is_third = call.node.op.ends_with("V3");
  const std::string align = is_third ? call.attributes().Text("align", "RIGHT_LEFT") : "LEFT_LEFT";
  band.lefts_above = align.starts_with("LEFT");
  band.lefts_below = align.ends_with("LEFT");
  return band;
}

Status CheckWithin(const Band& band) {
  for (const int64_t d : {band.low, band.high}) {
    if (d != 0 && (d <= -band.rows || d >= band.columns))
      return InvalidArgument("diag_index {} is outside a matrix of {} rows and {} columns", d, band.rows, band.columns);
  }
  return {};
}

Shape PackedShape(const Shape& batch, const Band& band) {
  Shape shape = batch;
  if (band.low != band.high) shape.push_back(band.count());
  shape.push_back(band.packed_length());
  return shape;
}

// Calls pair(packed, in_matrix) for each value of the band of one matrix. The arguments are the value's index in the
// packed form and its index in the matrix.
template <typename F>
void ForEachInBand(const Band& band, F pair) {
  for (int64_t d = band.low; d <= band.high; ++d) {
    const int64_t packed = (band.high - d) * band.packed_length() + band.offset(d);
    const int64_t first = d >= 0 ? d : -d * band.columns;
    for (int64_t i = 0; i < band.length(d); ++i) pair(packed + i, first + i * (band.columns + 1));
  }
}

Status CheckScalar(const Tensor& tensor, DType type, std::string_view what) {
  if (tensor.type() == type && tensor.elements() == 1) return {};
  return InvalidArgument("{} must be one {}", what, DTypeName(type));
}

Outputs DiagPartOf(const Call& call, const Tensor* k, const Tensor* padding) {
  const Tensor& in = call.in(0);
  if (in.rank() < 2) return InvalidArgument("input must be at least 2-dim, not {}", ToString(in.shape()));
  ASSIGN_OR_RETURN(Band band, BandOf(call, k));
  band.rows = in.dim(in.rank() - 2);
  band.columns = in.dim(in.rank() - 1);
  RETURN_IF_ERROR(CheckWithin(band));
  if (padding != nullptr) RETURN_IF_ERROR(CheckScalar(*padding, in.type(), "padding_value"));
  const Shape shape = PackedShape({in.shape().begin(), in.shape().end() - 2}, band);
  RETURN_IF_ERROR(call.HasRoomFor(in.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, shape));
  const int64_t packed_size = band.count() * band.packed_length();
  return ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(Raw<T>(out), out.elements(), padding == nullptr ? T{} : *Raw<T>(*padding));
    for (int64_t m = 0; m < (packed_size == 0 ? 0 : out.elements() / packed_size); ++m) {
      const T* from = Raw<T>(in) + m * band.rows * band.columns;
      T* to = Raw<T>(out) + m * packed_size;
      ForEachInBand(band, [&](int64_t packed, int64_t at) { to[packed] = from[at]; });
    }
    return One(out);
  });
}

Outputs MatrixDiagPart(const Call& call) { return DiagPartOf(call, nullptr, nullptr); }
Outputs MatrixDiagPartV2(const Call& call) { return DiagPartOf(call, &call.in(1), &call.in(2)); }

// Writes the packed diagonals into `out`, which already has the values of all other elements.
Outputs WriteBand(const Tensor& packed, const Band& band, Tensor out) {
  const int64_t packed_size = band.count() * band.packed_length();
  return ForMoves(out.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t m = 0; m < (packed_size == 0 ? 0 : packed.elements() / packed_size); ++m) {
      const T* from = Raw<T>(packed) + m * packed_size;
      T* to = Raw<T>(out) + m * band.rows * band.columns;
      ForEachInBand(band, [&](int64_t at, int64_t in_matrix) { to[in_matrix] = from[at]; });
    }
    return One(out);
  });
}

Outputs SetDiagOf(const Call& call, const Tensor* k) {
  const Tensor& in = call.in(0);
  const Tensor& packed = call.in(1);
  if (in.rank() < 2) return InvalidArgument("input must be at least 2-dim, not {}", ToString(in.shape()));
  ASSIGN_OR_RETURN(Band band, BandOf(call, k));
  band.rows = in.dim(in.rank() - 2);
  band.columns = in.dim(in.rank() - 1);
  RETURN_IF_ERROR(CheckWithin(band));
  const Shape wanted = PackedShape({in.shape().begin(), in.shape().end() - 2}, band);
  if (packed.type() != in.type() || packed.shape() != wanted)
    return InvalidArgument("diagonals have the type and shape {}{} instead of {}{}", DTypeName(packed.type()),
                           ToString(packed.shape()), DTypeName(in.type()), ToString(wanted));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  RETURN_IF_ERROR(ForMoves(in.type(), [&](auto tag) {
                    using T = typename decltype(tag)::type;
                    std::copy_n(Raw<T>(in), in.elements(), Raw<T>(out));
                    return Outputs{};
                  }).map([](const auto&) {}));
  return WriteBand(packed, band, out);
}

Outputs MatrixSetDiag(const Call& call) { return SetDiagOf(call, nullptr); }
Outputs MatrixSetDiagV2(const Call& call) { return SetDiagOf(call, &call.in(2)); }

struct Wanted {
  int64_t rows = -1, columns = -1;  // -1 stands for the smallest size that holds the diagonals.
};

// Sets the size of the matrices: the wanted size, or the smallest that holds the diagonals. InvalidArgument unless the
// diagonals fit and reach the last row or the last column.
Status SetSize(const Wanted& wanted, int64_t packed_length, Band* band) {
  const int64_t rows = packed_length - std::min<int64_t>(band->high, 0);
  const int64_t columns = packed_length + std::max<int64_t>(band->low, 0);
  const bool is_free = wanted.rows == -1 && wanted.columns == -1;
  band->rows = is_free ? std::max(rows, columns) : wanted.rows == -1 ? rows : wanted.rows;
  band->columns = is_free ? std::max(rows, columns) : wanted.columns == -1 ? columns : wanted.columns;
  const bool fits = band->rows >= rows && band->columns >= columns && (band->rows == rows || band->columns == columns);
  if (fits) return {};
  return InvalidArgument(
      "diagonals {} to {}, packed with length {}, do not fill a matrix of {} rows and {} columns exactly", band->low,
      band->high, packed_length, band->rows, band->columns);
}

Outputs DiagOf(const Call& call, Band band, const Wanted& wanted, const Tensor* padding) {
  const Tensor& packed = call.in(0);
  const bool has_many = band.low != band.high;
  if (packed.rank() < (has_many ? 2 : 1)) return InvalidArgument("diagonal must be at least {}-dim", has_many ? 2 : 1);
  if (has_many && packed.dim(packed.rank() - 2) != band.count())
    return InvalidArgument("expected {} diagonals in the shape {}", band.count(), ToString(packed.shape()));
  RETURN_IF_ERROR(SetSize(wanted, packed.shape().back(), &band));
  if (band.packed_length() != packed.shape().back())
    return InvalidArgument("diagonals have the length {} instead of {}", packed.shape().back(), band.packed_length());
  Shape shape(packed.shape().begin(), packed.shape().end() - (has_many ? 2 : 1));
  shape.insert(shape.end(), {band.rows, band.columns});
  RETURN_IF_ERROR(call.HasRoomFor(packed.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(packed, shape));
  RETURN_IF_ERROR(ForMoves(packed.type(), [&](auto tag) {
                    using T = typename decltype(tag)::type;
                    std::fill_n(Raw<T>(out), out.elements(), padding == nullptr ? T{} : *Raw<T>(*padding));
                    return Outputs{};
                  }).map([](const auto&) {}));
  return WriteBand(packed, band, out);
}

Outputs MatrixDiag(const Call& call) { return DiagOf(call, {}, {}, nullptr); }

Outputs MatrixDiagV2(const Call& call) {
  ASSIGN_OR_RETURN(const Band band, BandOf(call, &call.in(1)));
  Wanted wanted;
  ASSIGN_OR_RETURN(wanted.rows, IntOf(call.in(2), "num_rows"));
  ASSIGN_OR_RETURN(wanted.columns, IntOf(call.in(3), "num_cols"));
  RETURN_IF_ERROR(CheckScalar(call.in(4), call.in(0).type(), "padding_value"));
  return DiagOf(call, band, wanted, &call.in(4));
}

// Turns a tensor [a, b] into [a, b, a, b], with out[i, j, i, j] = in[i, j] and zeros elsewhere.
Outputs Diag(const Call& call) {
  const Tensor& in = call.in(0);
  if (in.rank() < 1) return InvalidArgument("Input must be at least rank 1, got 0");
  Shape shape = in.shape();
  shape.insert(shape.end(), in.shape().begin(), in.shape().end());
  RETURN_IF_ERROR(call.HasRoomFor(in.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, shape));
  return ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(Raw<T>(out), out.elements(), T{});
    for (int64_t i = 0; i < in.elements(); ++i) Raw<T>(out)[i * (in.elements() + 1)] = Raw<T>(in)[i];
    return One(out);
  });
}

Outputs DiagPart(const Call& call) {
  const Tensor& in = call.in(0);
  const auto half = static_cast<std::ptrdiff_t>(in.shape().size() / 2);
  const Shape shape(in.shape().begin(), in.shape().begin() + half);
  if (in.rank() < 2 || !std::equal(shape.begin(), shape.end(), in.shape().begin() + half, in.shape().end()))
    return InvalidArgument(
        "the shape {} must have at least 2 dimensions, and its first half must equal its second half",
        ToString(in.shape()));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, shape));
  return ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < out.elements(); ++i) Raw<T>(out)[i] = Raw<T>(in)[i * (out.elements() + 1)];
    return One(out);
  });
}

// Sets values outside the band to zero. A negative num_lower or num_upper keeps all values on its side of the main
// diagonal.
Outputs MatrixBandPart(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(int64_t lower, IntOf(call.in(1), "num_lower"));
  ASSIGN_OR_RETURN(int64_t upper, IntOf(call.in(2), "num_upper"));
  if (in.rank() < 2) return InvalidArgument("input must be at least 2-dim, not {}", ToString(in.shape()));
  const int64_t rows = in.dim(in.rank() - 2), columns = in.dim(in.rank() - 1);
  if (lower > rows) return InvalidArgument("num_lower {} is above {}, the number of rows", lower, rows);
  if (upper > columns) return InvalidArgument("num_upper {} is above {}, the number of columns", upper, columns);
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  return ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < in.elements(); ++i) {
      const int64_t row = i / columns % rows, column = i % columns;
      const bool is_kept = (lower < 0 || row - column <= lower) && (upper < 0 || column - row <= upper);
      Raw<T>(out)[i] = is_kept ? Raw<T>(in)[i] : T{};
    }
    return One(out);
  });
}

constexpr Kernel kKernels[] = {
    {"Diag", Diag, 1},
    {"DiagPart", DiagPart, 1},
    {"MatrixBandPart", MatrixBandPart, 3},
    {"MatrixDiag", MatrixDiag, 1},
    {"MatrixDiagPart", MatrixDiagPart, 1},
    {"MatrixDiagPartV2", MatrixDiagPartV2, 3},
    {"MatrixDiagPartV3", MatrixDiagPartV2, 3},
    {"MatrixDiagV2", MatrixDiagV2, 5},
    {"MatrixDiagV3", MatrixDiagV2, 5},
    {"MatrixSetDiag", MatrixSetDiag, 2},
    {"MatrixSetDiagV2", MatrixSetDiagV2, 3},
    {"MatrixSetDiagV3", MatrixSetDiagV2, 3},
};

}  // namespace

std::span<const Kernel> DiagonalKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::math
