#include "serving-node/engine/kernels/text/examples.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "common/binary_proto/binary_proto.h"
#include "serving-node/engine/kernels/base/types.h"
#include "tensorflow/example.pb.h"

namespace longshore::engine::kernels::text {
namespace {

using tensorflow::Feature;

struct Examples {
  std::vector<tensorflow::Example> rows;
  bool is_batch = true;  // False if the input is a scalar: the output tensors then have no batch dimension.
};

Result<Examples> ParseAll(const Tensor& serialized) {
  if (serialized.type() != DType::kString || serialized.rank() > 1) {
    return InvalidArgument("serialized examples must be a vector of strings, not {} {}", DTypeName(serialized.type()),
                           ToString(serialized.shape()));
  }
  Examples examples{.rows = std::vector<tensorflow::Example>(static_cast<size_t>(serialized.elements())),
                    .is_batch = serialized.rank() == 1};
  for (size_t i = 0; i < examples.rows.size(); ++i) {
    if (!ParseBinaryProto(serialized.values<std::string>()[i], &examples.rows[i])) {
      return InvalidArgument("Could not parse example input {}: it is not a valid tf.Example", i);
    }
  }
  return examples;
}

// Returns how many values the feature has; nullopt if the example does not have the feature, or has it without a list
// of values.
Result<std::optional<int64_t>> CountOf(const Feature* feature, const std::string& key, DType type) {
  if (feature == nullptr || feature->kind_case() == Feature::KIND_NOT_SET) return std::nullopt;
  DType found = DType::kString;
  int64_t count = feature->bytes_list().value_size();
  if (feature->has_float_list()) {
    found = DType::kFloat;
    count = feature->float_list().value_size();
  } else if (feature->has_int64_list()) {
    found = DType::kInt64;
    count = feature->int64_list().value_size();
  }
  if (found == type) return count;
  return InvalidArgument("Key: {}. Data types don't match. Expected type: {}, Actual type: {}", key, DTypeName(type),
                         DTypeName(found));
}

// Copies the values of a feature into `out`, from index `at` on. Requires that they have the tensor's type and fit.
void CopyTo(const Feature& feature, Tensor* out, int64_t at) {
  switch (out->type()) {
    case DType::kFloat: std::ranges::copy(feature.float_list().value(), Raw<float>(*out) + at); return;
    case DType::kInt64: std::ranges::copy(feature.int64_list().value(), Raw<int64_t>(*out) + at); return;
    default: std::ranges::copy(feature.bytes_list().value(), Raw<std::string>(*out) + at); return;
  }
}

// One feature: its values in each example, and how many they are. There are no values if the example does not have the
// feature.
struct Column {
  std::vector<const Feature*> features;
  std::vector<std::optional<int64_t>> counts;

  int64_t count(size_t row) const { return counts[row].value_or(0); }
  int64_t longest() const {
    int64_t longest = 0;
    for (size_t row = 0; row < counts.size(); ++row) longest = std::max(longest, count(row));
    return longest;
  }
};

Result<Column> ColumnOf(const Examples& examples, const std::string& key, DType type) {
  Column column;
  for (const auto& example : examples.rows) {
    const auto found = example.features().feature().find(key);
    const Feature* feature = found == example.features().feature().end() ? nullptr : &found->second;
    ASSIGN_OR_RETURN(const auto count, CountOf(feature, key, type));
    column.features.push_back(feature);
    column.counts.push_back(count);
  }
  return column;
}

// Concatenates the values of all examples.
Result<Tensor> Joined(const Column& column, DType type) {
  int64_t total = 0;
  for (size_t row = 0; row < column.counts.size(); ++row) total += column.count(row);
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(type, {total}));
  int64_t at = 0;
  for (size_t row = 0; row < column.counts.size(); ++row) {
    if (column.count(row) > 0) CopyTo(*column.features[row], &out, at);
    at += column.count(row);
  }
  return out;
}

// Fills `count` elements of `out`, from index `at` on, with the default: with its elements one by one, or with its
// value if it has only one.
void FillIn(const Tensor& default_value, int64_t at, int64_t count, Tensor* out) {
  const auto fill = [&](const auto* from, auto* to) {
    for (int64_t i = 0; i < count; ++i)
      to[i] =
          default_value.elements() == 0 ? std::decay_t<decltype(*to)>{} : from[default_value.elements() == 1 ? 0 : i];
  };
  switch (out->type()) {
    case DType::kFloat: return fill(Raw<float>(default_value), Raw<float>(*out) + at);
    case DType::kInt64: return fill(Raw<int64_t>(default_value), Raw<int64_t>(*out) + at);
    default: return fill(Raw<std::string>(default_value), Raw<std::string>(*out) + at);
  }
}

// InvalidArgument if the example `row` has an unsuitable number of values, or lacks the feature although it has no
// default. `unit` is the number of elements of dense.shape.
Status CheckRow(const DenseFeature& dense, const Column& column, size_t row, int64_t unit) {
  if (dense.is_variable) {
    if (unit > 0 && column.count(row) % unit == 0) return {};
    return InvalidArgument("Key: {}, Index: {}. Number of values {} is not a multiple of {}", dense.key, row,
                           column.count(row), unit);
  }
  if (column.counts[row]) {
    if (column.count(row) == unit) return {};
    return InvalidArgument("Key: {}, Index: {}. Number of {} values != expected. values size: {} but output shape: {}",
                           dense.key, row, DTypeName(dense.type), column.count(row), ToString(dense.shape));
  }
  if (dense.default_value.elements() == unit) return {};
  return InvalidArgument("Name: <unknown>, Feature: {} (data type: {}) is required but could not be found.", dense.key,
                         DTypeName(dense.type));
}

Result<Tensor> ReadDense(const Call& call, const Examples& examples, const DenseFeature& dense) {
  ASSIGN_OR_RETURN(const Column column, ColumnOf(examples, dense.key, dense.type));
  ASSIGN_OR_RETURN(const int64_t unit, tensor::ElementCount(dense.shape));
  const size_t rows = examples.rows.size();
  for (size_t row = 0; row < rows; ++row) RETURN_IF_ERROR(CheckRow(dense, column, row, unit));
  const int64_t width = dense.is_variable ? column.longest() : unit;
  Shape shape = dense.shape;
  if (dense.is_variable) shape.insert(shape.begin(), unit == 0 ? 0 : width / unit);
  if (examples.is_batch) shape.insert(shape.begin(), static_cast<int64_t>(rows));
  // Checked because each example is padded to the length of the longest one.
  RETURN_IF_ERROR(call.HasRoomFor(dense.type, shape));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(dense.type, shape));
  for (size_t row = 0; row < rows; ++row) {
    const int64_t at = static_cast<int64_t>(row) * width;
    const int64_t count = column.count(row);
    if (count > 0) CopyTo(*column.features[row], &out, at);
    FillIn(dense.default_value, at + count, width - count, &out);
  }
  return out;
}

struct Sparse {
  Tensor indices, values, shape;
};

Result<Sparse> ReadSparse(const Examples& examples, const ListFeature& listed) {
  ASSIGN_OR_RETURN(const Column column, ColumnOf(examples, listed.key, listed.type));
  Sparse sparse;
  ASSIGN_OR_RETURN(sparse.values, Joined(column, listed.type));
  std::vector<int64_t> places;
  for (size_t row = 0; row < column.counts.size(); ++row) {
    for (int64_t i = 0; i < column.count(row); ++i) {
      if (examples.is_batch) places.push_back(static_cast<int64_t>(row));
      places.push_back(i);
    }
  }
  const int64_t rank = examples.is_batch ? 2 : 1;
  sparse.indices = Tensor::Of<int64_t>({sparse.values.elements(), rank}, places);
  std::vector<int64_t> shape = {column.longest()};
  if (examples.is_batch) shape.insert(shape.begin(), static_cast<int64_t>(column.counts.size()));
  sparse.shape = Tensor::Of<int64_t>({rank}, shape);
  return sparse;
}

// Returns the row splits: the index at which the values of each example begin, and at the end the number of all values.
// Empty if the input is a single example.
Result<Tensor> RowSplits(const Examples& examples, const Column& column, DType type) {
  std::vector<int64_t> splits;
  if (examples.is_batch) splits.push_back(0);
  for (size_t row = 0; examples.is_batch && row < column.counts.size(); ++row) {
    splits.push_back(splits.back() + column.count(row));
  }
  const Shape shape = {static_cast<int64_t>(splits.size())};
  if (type == DType::kInt64) return Tensor::Of<int64_t>(shape, splits);
  return Tensor::Of<int32_t>(shape, std::vector<int32_t>(splits.begin(), splits.end()));
}

}  // namespace

Outputs ReadExamples(const Call& call, const Spec& spec) {
  ASSIGN_OR_RETURN(const Examples examples, ParseAll(call.in(0)));
  std::vector<Tensor> indices, values, shapes, dense, ragged, splits;
  for (const auto& listed : spec.sparse) {
    ASSIGN_OR_RETURN(Sparse sparse, ReadSparse(examples, listed));
    indices.push_back(std::move(sparse.indices));
    values.push_back(std::move(sparse.values));
    shapes.push_back(std::move(sparse.shape));
  }
  for (const auto& each : spec.dense) {
    ASSIGN_OR_RETURN(Tensor read, ReadDense(call, examples, each));
    dense.push_back(std::move(read));
  }
  for (const auto& listed : spec.ragged) {
    ASSIGN_OR_RETURN(const Column column, ColumnOf(examples, listed.key, listed.type));
    ASSIGN_OR_RETURN(Tensor joined, Joined(column, listed.type));
    ragged.push_back(std::move(joined));
    ASSIGN_OR_RETURN(Tensor ends, RowSplits(examples, column, listed.splits));
    splits.push_back(std::move(ends));
  }
  std::vector<Tensor> all;
  for (auto* part : {&indices, &values, &shapes, &dense, &ragged, &splits}) {
    std::ranges::move(*part, std::back_inserter(all));
  }
  return all;
}

}  // namespace longshore::engine::kernels::text
