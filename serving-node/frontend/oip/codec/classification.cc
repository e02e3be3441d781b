#include "serving-node/frontend/oip/codec/classification.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "serving-node/frontend/oip/codec/datatype.h"

namespace longshore::frontend::oip::codec {
namespace {

using tensor::DType;
using tensor::Tensor;

template <typename T>
bool IsHigher(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
  }
  return a > b;
}

// Fills `classes` with the highest values of the row.
template <typename T>
void ClassifyRow(std::span<const T> row, std::span<std::string> classes) {
  std::vector<size_t> order(row.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(classes.size());
  std::partial_sort(order.begin(), end, order.end(), [row](size_t a, size_t b) {
    if (IsHigher(row[a], row[b])) return true;
    return !IsHigher(row[b], row[a]) && a < b;
  });
  for (size_t i = 0; i < classes.size(); ++i) {
    classes[i] = std::to_string(row[order[i]]) + ":" + std::to_string(order[i]);
  }
}

struct RowSizes {
  size_t rows;
  size_t values;   // The number of values in a row.
  size_t classes;  // The number of classes that a row gets.
};

RowSizes SizesOf(const Tensor& values, int64_t classes) {
  const int64_t rows = values.rank() >= 2 ? values.dim(0) : 1;
  const int64_t width = rows == 0 ? 0 : values.elements() / rows;
  return {static_cast<size_t>(rows), static_cast<size_t>(width), static_cast<size_t>(std::min(classes, width))};
}

template <typename T>
void ClassifyRows(const Tensor& values, RowSizes sizes, Tensor* classes) {
  if (sizes.classes == 0) return;  // The shape of a tensor without values may have any number of rows.
  const auto all = values.values<T>();
  const auto out = classes->mutable_values<std::string>();
  for (size_t row = 0; row < sizes.rows; ++row) {
    ClassifyRow<T>(all.subspan(row * sizes.values, sizes.values), out.subspan(row * sizes.classes, sizes.classes));
  }
}

}  // namespace

int64_t ClassCount(const Tensor& values, int64_t classes) {
  const RowSizes sizes = SizesOf(values, classes);
  return sizes.classes == 0 ? 0 : static_cast<int64_t>(sizes.rows * sizes.classes);
}

Result<Tensor> HighestClasses(std::string_view output, const Tensor& values, int64_t classes) {
  const RowSizes sizes = SizesOf(values, classes);
  tensor::Shape shape = {static_cast<int64_t>(sizes.classes)};
  if (values.rank() >= 2) shape.insert(shape.begin(), values.dim(0));
  ASSIGN_OR_RETURN(Tensor texts, Tensor::Make(DType::kString, std::move(shape)));
  switch (values.type()) {
    case DType::kUint8: ClassifyRows<uint8_t>(values, sizes, &texts); return texts;
    case DType::kUint16: ClassifyRows<uint16_t>(values, sizes, &texts); return texts;
    case DType::kUint32: ClassifyRows<uint32_t>(values, sizes, &texts); return texts;
    case DType::kUint64: ClassifyRows<uint64_t>(values, sizes, &texts); return texts;
    case DType::kInt8: ClassifyRows<int8_t>(values, sizes, &texts); return texts;
    case DType::kInt16: ClassifyRows<int16_t>(values, sizes, &texts); return texts;
    case DType::kInt32: ClassifyRows<int32_t>(values, sizes, &texts); return texts;
    case DType::kInt64: ClassifyRows<int64_t>(values, sizes, &texts); return texts;
    case DType::kFloat: ClassifyRows<float>(values, sizes, &texts); return texts;
    case DType::kDouble: ClassifyRows<double>(values, sizes, &texts); return texts;
    default:
      return InvalidArgument("class result not available for output '{}' due to unsupported type '{}'", output,
                             DatatypeName(values.type()));
  }
}

}  // namespace longshore::frontend::oip::codec
