#include "serving-node/golden_files/columns.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/base/base64.h"
#include "common/base/text.h"
#include "common/base/trimmed.h"
#include "common/json/json.h"
#include "serving-node/frontend/json/request.h"
#include "serving-node/tensor/half.h"
#include "serving-node/tensor/info.h"

namespace longshore::golden_files {
namespace {

using tensor::DType;
using tensor::Tensor;

std::string TextAsJson(const std::string& cell) {
  return IsUtf8(cell) ? Json(cell).dump() : Json{{"b64", ToBase64(cell)}}.dump();
}

// Spellings of Python, pandas and spreadsheets.
Result<std::string> BoolAsJson(std::string_view cell) {
  for (const std::string_view yes : {"true", "True", "TRUE", "1"})
    if (cell == yes) return "true";
  for (const std::string_view no : {"false", "False", "FALSE", "0"})
    if (cell == no) return "false";
  return InvalidArgument("must be true or false");
}

bool IsInteger(DType type) {
  switch (type) {
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64: return true;
    default: return false;
  }
}

// pandas writes whole numbers of a column with gaps as 7.0.
std::string_view WithoutZeroFraction(std::string_view number) {
  const size_t point = number.find('.');
  const bool is_zero = point != number.npos && number.substr(point + 1).find_first_not_of('0') == number.npos;
  return is_zero ? number.substr(0, point) : number;
}

Result<std::string> NumberAsJson(std::string_view cell, DType type) {
  if (cell.empty()) return InvalidArgument("is empty");
  if (cell.starts_with('+')) cell.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error == std::errc::invalid_argument || end != cell.data() + cell.size())
    return InvalidArgument("is not a number");
  if (error != std::errc()) return InvalidArgument("is too large or too small for a number");
  if (IsInteger(type)) return std::string(WithoutZeroFraction(cell));
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{}", number);
}

// The cell as a JSON value. A cell that begins with "[" is a JSON list, except for a text of one row.
Result<std::string> CellAsJson(const std::string& cell, const Columns& columns) {
  const DType type = tensor::FromProto(columns.info.dtype());
  const std::string_view trimmed = Trimmed(cell);
  const auto pattern = tensor::PatternOf(columns.info);
  const bool may_be_list = !columns.is_list && (type != DType::kString || (pattern && pattern->size() > 1));
  if (may_be_list && trimmed.starts_with('[')) return std::string(trimmed);
  if (type == DType::kString) return TextAsJson(cell);
  if (type == DType::kBool) return BoolAsJson(trimmed);
  return NumberAsJson(trimmed, type);
}

// Converts floats to a type of 16 bits.
Result<Tensor> Narrowed(const Tensor& floats, DType type) {
  ASSIGN_OR_RETURN(Tensor narrow, Tensor::Make(type, floats.shape()));
  auto* const bits = reinterpret_cast<uint16_t*>(narrow.mutable_data());
  const auto narrowed = type == DType::kHalf ? tensor::FloatToHalf : tensor::FloatToBfloat16;
  std::ranges::transform(floats.values<float>(), bits, narrowed);
  return narrow;
}

// Reads the value as the REST API reads the only input of a signature. That API has no floats of 16 bits.
Result<Tensor> FromJson(const std::string& value, const tensorflow::TensorInfo& info) {
  const DType type = tensor::FromProto(info.dtype());
  const bool is_narrow = type == DType::kHalf || type == DType::kBfloat16;
  tensorflow::SignatureDef signature;
  tensorflow::TensorInfo& input = (*signature.mutable_inputs())["value"] = info;
  if (is_narrow) input.set_dtype(tensorflow::DT_FLOAT);
  ASSIGN_OR_RETURN(auto read,
                   frontend::json::PredictionFromJson(
                       "{\"inputs\": " + value + "}",
                       [&](const std::string&) -> Result<const tensorflow::SignatureDef*> { return &signature; }));
  const Tensor& tensor = read.inputs.at("value");
  return is_narrow ? Narrowed(tensor, type) : tensor;
}

Status CheckNamed(const CsvReader& csv, const std::string& column) {
  if (csv.Column(column)) return {};
  return InvalidArgument("the table has no column \"{}\"; its columns are: {}", column, fmt::join(csv.header(), ", "));
}

}  // namespace

Result<Columns> FindColumns(const CsvReader& csv, const std::string& name, const std::vector<std::string>& named) {
  Columns found;
  found.is_list = named.size() > 1;
  for (const std::string& column : named) {
    RETURN_IF_ERROR(CheckNamed(csv, column));
    found.positions.push_back(*csv.Column(column));
  }
  if (!named.empty()) return found;
  const auto single = csv.Column(name);
  std::vector<size_t> elements;
  while (const auto next = csv.Column(fmt::format("{}[{}]", name, elements.size()))) elements.push_back(*next);
  size_t listed = 0;
  for (const std::string& column : csv.header()) listed += column.starts_with(name + "[") && column.ends_with(']');
  if (listed != elements.size())
    return InvalidArgument("{} columns are named \"{}[...]\", but the column \"{}[{}]\" is missing", listed, name, name,
                           elements.size());
  if (single && !elements.empty())
    return InvalidArgument("there are a column \"{}\" and columns \"{}[...]\": keep one of the two", name, name);
  if (!single && elements.empty())
    return NotFound("there is neither a column \"{}\" nor a column \"{}[0]\"; the columns are: {}", name, name,
                    fmt::join(csv.header(), ", "));
  found.is_list = !single;
  found.positions = single ? std::vector{*single} : elements;
  return found;
}

Result<Tensor> AsRow(const Tensor& value, const tensorflow::TensorInfo& info) {
  tensor::Shape with_row = value.shape();
  with_row.insert(with_row.begin(), 1);
  auto wanted = tensor::PatternOf(info);
  if (!wanted) return value.Reshaped(with_row);
  if (tensor::Matches(value.shape(), wanted)) return value;
  if (tensor::Matches(with_row, wanted)) return value.Reshaped(with_row);
  if (!wanted->empty() && wanted->front() < 0) wanted->front() = 1;
  int64_t known = 1;
  size_t open = 0;
  for (const int64_t size : *wanted) {
    if (size >= 0) known *= size;
    if (size < 0) ++open;
  }
  if (open == 1 && known > 0 && value.rank() == 1 && value.elements() % known == 0) {
    for (int64_t& size : *wanted)
      if (size < 0) size = value.elements() / known;
    return value.Reshaped(*wanted);
  }
  if (open == 0 && known == value.elements()) return value.Reshaped(*wanted);
  return InvalidArgument("{} values of the shape {} do not fit {} {}", value.elements(),
                         tensor::ToString(value.shape()), DTypeName(value.type()),
                         tensor::ToString(tensor::PatternOf(info)));
}

Result<Tensor> TensorOf(const Columns& columns, const CsvReader& csv, const CsvRow& row) {
  std::string json;
  for (const size_t position : columns.positions) {
    const std::string& cell = row.fields[position];
    auto value = CellAsJson(cell, columns);
    if (!value)
      return InvalidArgument("column \"{}\": \"{}\" {}; {} is {} {}", csv.header()[position],
                             CutText(cell, kCellShownBytesMax), value.error().message, columns.what,
                             DTypeName(tensor::FromProto(columns.info.dtype())),
                             tensor::ToString(tensor::PatternOf(columns.info)));
    json += (json.empty() ? "" : ",") + *value;
  }
  auto value = FromJson(columns.is_list ? "[" + json + "]" : json, columns.info);
  if (value) value = AsRow(*value, columns.info);
  if (value) return value;
  return Prefixed(value.error(),
                  fmt::format("column \"{}\", for {}", csv.header()[columns.positions.front()], columns.what));
}

}  // namespace longshore::golden_files
