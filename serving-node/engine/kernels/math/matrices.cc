// Inverts, decomposes and solves matrices or batches of matrices. All computations are in double, even for float
// inputs.
#include <algorithm>
#include <cmath>
#include <limits>

#include "serving-node/engine/kernels/base/broadcast.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/math/families.h"

namespace longshore::engine::kernels::math {
namespace {

// A row-major matrix.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<double> values;

  double& at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * columns + j)]; }
  double at(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * columns + j)]; }
};

template <typename T>
Matrix MatrixAt(const Tensor& tensor, int64_t number, bool transposed = false) {
  const int64_t rows = tensor.dim(tensor.rank() - 2), columns = tensor.dim(tensor.rank() - 1);
  Matrix matrix{transposed ? columns : rows, transposed ? rows : columns, {}};
  matrix.values.resize(static_cast<size_t>(rows * columns));
  const T* from = Raw<T>(tensor) + number * rows * columns;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      (transposed ? matrix.at(j, i) : matrix.at(i, j)) = static_cast<double>(from[i * columns + j]);
  }
  return matrix;
}

template <typename T>
void Put(const Matrix& matrix, int64_t number, Tensor* out) {
  std::ranges::transform(matrix.values, Raw<T>(*out) + number * static_cast<int64_t>(matrix.values.size()),
                         [](double x) { return static_cast<T>(x); });
}

Status CheckSquare(const Tensor& tensor) {
  if (tensor.rank() >= 2 && tensor.dim(tensor.rank() - 1) == tensor.dim(tensor.rank() - 2)) return {};
  return InvalidArgument("Input matrix must be square, got {}", ToString(tensor.shape()));
}

int64_t MatricesIn(const Tensor& tensor) {
  return tensor.elements() == 0 ? 0 : Product(tensor.shape(), 0, tensor.shape().size() - 2);
}

// Gaussian elimination with row pivoting: replaces `right` by the solution of left * x = right. Returns the determinant
// of `left`. If it is 0, `left` is singular and `right` is not a solution.
double Eliminate(Matrix left, Matrix* right) {
  const int64_t n = left.rows;
  double determinant = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) pivot = std::fabs(left.at(i, k)) > std::fabs(left.at(pivot, k)) ? i : pivot;
    for (int64_t j = 0; pivot != k && j < n; ++j) std::swap(left.at(k, j), left.at(pivot, j));
    for (int64_t j = 0; pivot != k && j < right->columns; ++j) std::swap(right->at(k, j), right->at(pivot, j));
    determinant *= pivot == k ? left.at(k, k) : -left.at(k, k);
    if (left.at(k, k) == 0) return 0;
    for (int64_t i = 0; i < n; ++i) {
      const double factor = i == k ? 0 : left.at(i, k) / left.at(k, k);
      if (factor == 0) continue;
      for (int64_t j = k; j < n; ++j) left.at(i, j) -= factor * left.at(k, j);
      for (int64_t j = 0; j < right->columns; ++j) right->at(i, j) -= factor * right->at(k, j);
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < right->columns; ++j) right->at(i, j) /= left.at(i, i);
  }
  return determinant;
}

Outputs MatrixInverse(const Call& call) {
  const Tensor& in = call.in(0);
  RETURN_IF_ERROR(CheckSquare(in));
  const bool adjoint = call.attributes().Bool("adjoint", false);
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  return ForFloats(in.type(), [&](auto tag) -> Outputs {
    using T = typename decltype(tag)::type;
    for (int64_t m = 0; m < MatricesIn(in); ++m) {
      const Matrix left = MatrixAt<T>(in, m, adjoint);
      Matrix inverse{left.rows, left.rows, std::vector<double>(left.values.size())};
      for (int64_t i = 0; i < left.rows; ++i) inverse.at(i, i) = 1;
      if (Eliminate(left, &inverse) == 0) return InvalidArgument("Input is not invertible.");
      Put<T>(inverse, m, &out);
    }
    return One(out);
  });
}

Outputs MatrixDeterminant(const Call& call) {
  const Tensor& in = call.in(0);
  RETURN_IF_ERROR(CheckSquare(in));
  const Shape shape(in.shape().begin(), in.shape().end() - 2);
  // Checked because a batch of any number of empty matrices is a small input with a large result.
  RETURN_IF_ERROR(call.HasRoomFor(in.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, shape));
  return ForFloats(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(Raw<T>(out), out.elements(), T{1});  // An empty matrix has the determinant 1.
    for (int64_t m = 0; m < MatricesIn(in); ++m) {
      Matrix nothing{in.dim(in.rank() - 1), 0, {}};
      Raw<T>(out)[m] = static_cast<T>(Eliminate(MatrixAt<T>(in, m), &nothing));
    }
    return One(out);
  });
}

Outputs MatrixSolve(const Call& call) {
  const Tensor& left = call.in(0);
  const Tensor& right = call.in(1);
  RETURN_IF_ERROR(CheckSquare(left));
  const bool adjoint = call.attributes().Bool("adjoint", false);
  if (right.type() != left.type() || right.rank() != left.rank() ||
      !std::equal(left.shape().begin(), left.shape().end() - 1, right.shape().begin()))
    return InvalidArgument("matrix {} and rhs {} do not fit together", ToString(left.shape()), ToString(right.shape()));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(right, right.shape()));
  return ForFloats(left.type(), [&](auto tag) -> Outputs {
    using T = typename decltype(tag)::type;
    for (int64_t m = 0; m < MatricesIn(right); ++m) {
      Matrix solution = MatrixAt<T>(right, m);
      if (Eliminate(MatrixAt<T>(left, m, adjoint), &solution) == 0)
        return InvalidArgument("Input matrix is not invertible.");
      Put<T>(solution, m, &out);
    }
    return One(out);
  });
}

// Solves left * x = right by substitution and replaces `right` by x. `left` is lower or upper triangular; its other
// half is not read.
void Substitute(const Matrix& left, bool lower, Matrix* right) {
  const int64_t n = left.rows;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t i = lower ? k : n - 1 - k;
    for (int64_t j = 0; j < right->columns; ++j) {
      double sum = right->at(i, j);
      for (int64_t p = lower ? 0 : i + 1; p < (lower ? i : n); ++p) sum -= left.at(i, p) * right->at(p, j);
      right->at(i, j) = sum / left.at(i, i);
    }
  }
}

Outputs MatrixTriangularSolve(const Call& call) {
  const Tensor& left = call.in(0);
  const Tensor& right = call.in(1);
  RETURN_IF_ERROR(CheckSquare(left));
  const bool adjoint = call.attributes().Bool("adjoint", false);
  const bool lower = call.attributes().Bool("lower", true) != adjoint;
  if (right.type() != left.type() || right.rank() < 2 || right.dim(right.rank() - 2) != left.dim(left.rank() - 1))
    return InvalidArgument("matrix {} and rhs {} do not fit together", ToString(left.shape()), ToString(right.shape()));
  const Shape left_batch(left.shape().begin(), left.shape().end() - 2);
  const Shape right_batch(right.shape().begin(), right.shape().end() - 2);
  ASSIGN_OR_RETURN(const Shape batch, BroadcastShape(left_batch, right_batch));
  Shape shape = batch;
  shape.insert(shape.end(), right.shape().end() - 2, right.shape().end());
  RETURN_IF_ERROR(call.HasRoomFor(left.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(left, shape));
  if (out.elements() == 0) return One(out);
  const std::array strides = {BroadcastStrides(left_batch, batch), BroadcastStrides(right_batch, batch)};
  return ForFloats(left.type(), [&](auto tag) -> Outputs {
    using T = typename decltype(tag)::type;
    ForEachRow(batch, strides, [&](int64_t to, const std::array<int64_t, 2>& from, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const auto along = [&](size_t k) { return from[k] + (batch.empty() ? 0 : i * strides[k].back()); };
        const Matrix triangle = MatrixAt<T>(left, along(0), adjoint);
        Matrix solution = MatrixAt<T>(right, along(1));
        Substitute(triangle, lower, &solution);
        Put<T>(solution, to + i, &out);
      }
    });
    return One(out);
  });
}

// The Cholesky decomposition, in place: the lower triangle L with L * transpose(L) = matrix. Reads only the lower half
// of the matrix. The result contains NaN if the matrix is not positive definite.
void Decompose(Matrix* matrix) {
  for (int64_t i = 0; i < matrix->rows; ++i) {
    for (int64_t j = 0; j < matrix->rows; ++j) {
      double sum = j > i ? 0 : matrix->at(i, j);
      for (int64_t k = 0; j <= i && k < j; ++k) sum -= matrix->at(i, k) * matrix->at(j, k);
      if (i == j) sum = sum > 0 ? std::sqrt(sum) : std::numeric_limits<double>::quiet_NaN();
      matrix->at(i, j) = j < i ? sum / matrix->at(j, j) : sum;
    }
  }
}

Outputs Cholesky(const Call& call) {
  const Tensor& in = call.in(0);
  RETURN_IF_ERROR(CheckSquare(in));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  return ForFloats(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t m = 0; m < MatricesIn(in); ++m) {
      Matrix matrix = MatrixAt<T>(in, m);
      Decompose(&matrix);
      Put<T>(matrix, m, &out);
    }
    return One(out);
  });
}

constexpr Kernel kKernels[] = {
    {"Cholesky", Cholesky, 1, kFloats},
    {"MatrixDeterminant", MatrixDeterminant, 1, kFloats},
    {"MatrixInverse", MatrixInverse, 1, kFloats},
    {"MatrixSolve", MatrixSolve, 2, kFloats},
    {"MatrixTriangularSolve", MatrixTriangularSolve, 2, kFloats},
};

}  // namespace

std::span<const Kernel> MatrixKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::math
