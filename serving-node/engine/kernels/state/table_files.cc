// Fills lookup tables with the lines of a text file. The file is an asset of the model version and is read only while
// the version loads.
#include <sstream>
#include <string_view>

#include "common/os/file.h"
#include "serving-node/engine/kernels/base/numbers.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/state/families.h"
#include "serving-node/engine/kernels/state/tables.h"

namespace longshore::engine::kernels::state {
namespace {

// Values of Columns::key and Columns::value that are not the index of a field of the line.
constexpr int64_t kLineNumber = -1, kWholeLine = -2;

struct Columns {
  int64_t key = kWholeLine, value = kLineNumber;
  char delimiter = '\t';
};

struct Line {
  std::string_view text;
  int64_t number = 0;  // The line number plus the attribute `offset`.
};

Status CheckColumn(std::string_view what, int64_t column, DType type) {
  if (column < kWholeLine) return InvalidArgument("{} index is {}, but must be at least -2", what, column);
  if (column == kLineNumber && type != DType::kInt64)
    return InvalidArgument("{} index for line number requires DT_INT64, not {}", what, DTypeName(type));
  if (column == kWholeLine && type != DType::kString && (Only(type) & kIntegers) == 0)
    return InvalidArgument("{} index for whole line requires integers or DT_STRING, not {}", what, DTypeName(type));
  return {};
}

Result<std::string_view> Field(std::string_view line, int64_t column, char delimiter) {
  if (column == kWholeLine) return line;
  for (int64_t i = 0; i < column; ++i) {
    const size_t end = line.find(delimiter);
    if (end == line.npos) return InvalidArgument("expected at least {} columns, got {}", column + 1, i + 1);
    line.remove_prefix(end + 1);
  }
  return line.substr(0, line.find(delimiter));
}

// Parses a number. Ignores a zero byte and everything after it, as TensorFlow does.
template <typename T>
Result<Tensor> Number(std::string_view field) {
  if (const auto number = NumberOf<T>(std::string(field.substr(0, field.find('\0')))))
    return Tensor::Of<T>({}, {*number});
  return InvalidArgument("Field {} is not a valid {}", field, DTypeName(tensor::DTypeOf<T>()));
}

Result<Tensor> ScalarOf(std::string_view field, DType type) {
  switch (type) {
    case DType::kString: return Tensor::Of<std::string>({}, {std::string(field)});
    case DType::kInt32: return Number<int32_t>(field);
    case DType::kInt64: return Number<int64_t>(field);
    case DType::kFloat: return Number<float>(field);
    case DType::kDouble: return Number<double>(field);
    default: return InvalidArgument("columns of {} are not supported", DTypeName(type));
  }
}

Result<Tensor> ValueOf(const Line& line, int64_t column, char delimiter, DType type) {
  if (column == kLineNumber) return Tensor::Of<int64_t>({}, {line.number});
  ASSIGN_OR_RETURN(const std::string_view field, Field(line.text, column, delimiter));
  return ScalarOf(field, type);
}

Status AddLine(const Call& call, const Line& line, const Columns& columns, Table* table) {
  if (line.text.empty()) return InvalidArgument("the line is empty");
  ASSIGN_OR_RETURN(const Tensor key, ValueOf(line, columns.key, columns.delimiter, table->key_type));
  ASSIGN_OR_RETURN(const Tensor value, ValueOf(line, columns.value, columns.delimiter, table->value_type));
  RETURN_IF_ERROR(CheckRows(call, key, value, *table));
  return AddRow(call, key, value, 0, table);
}

Result<Columns> ColumnsOf(const Call& call, const Table& table) {
  const std::string delimiter = call.attributes().Text("delimiter", "\t");
  if (delimiter.size() != 1) return InvalidArgument("delimiter should be only 1 char");
  const Columns columns{.key = call.attributes().Int("key_index", kWholeLine),
                        .value = call.attributes().Int("value_index", kLineNumber),
                        .delimiter = delimiter[0]};
  RETURN_IF_ERROR(CheckColumn("Key", columns.key, table.key_type));
  RETURN_IF_ERROR(CheckColumn("Value", columns.value, table.value_type));
  return columns;
}

Result<std::string> FileName(const Call& call) {
  if (call.in(1).type() != DType::kString || call.in(1).elements() != 1)
    return InvalidArgument("the name of the file must be one string");
  const std::string name = call.in(1).values<std::string>()[0];
  if (call.resources.readable_files.contains(name)) return name;
  return FailedPrecondition("\"{}\" is not an asset of this version", name);
}

// Adds the first vocab_size lines, or all lines if vocab_size is -1. The attribute `offset` is only added to line
// numbers; no lines are skipped.
Status AddLines(const Call& call, const std::string& file, const Columns& columns, Table* table) {
  const int64_t rows = call.attributes().Int("vocab_size", -1);
  if (rows < -1 || rows == 0) return InvalidArgument("vocab_size must be positive or -1, not {}", rows);
  const auto offset = static_cast<uint64_t>(call.attributes().Int("offset", 0));
  ASSIGN_OR_RETURN(std::string bytes, ReadFile(file));
  std::istringstream lines(std::move(bytes));
  std::string text;
  int64_t at = 0;
  for (; at != rows && std::getline(lines, text); ++at) {
    if (text.ends_with('\r')) text.pop_back();
    const Line line{.text = text, .number = static_cast<int64_t>(offset + static_cast<uint64_t>(at))};
    if (const auto added = AddLine(call, line, columns, table); !added)
      return Prefixed(added.error(), fmt::format("{} line {}", file, at));
  }
  if (rows >= 0 && at < rows)
    return InvalidArgument("Invalid vocab_size in {}: expected {} but got {}", file, rows, at);
  if (at == 0) return InvalidArgument("{} has no lines", file);
  return {};
}

Outputs FromTextFile(const Call& call) {
  ASSIGN_OR_RETURN(Table * table, TableOf(call));
  if (table->is_mutable) return InvalidArgument("a mutable table cannot be initialised from a file");
  ASSIGN_OR_RETURN(const std::string file, FileName(call));
  ASSIGN_OR_RETURN(const Columns columns, ColumnsOf(call, *table));
  RETURN_IF_ERROR(AddLines(call, file, columns, table));
  table->is_filled = true;
  return std::vector<Tensor>{};
}

constexpr Kernel kKernels[] = {
    {.op = "InitializeTableFromTextFile", .compute = FromTextFile, .inputs_min = 2, .is_foldable = false},
    {.op = "InitializeTableFromTextFileV2", .compute = FromTextFile, .inputs_min = 2, .is_foldable = false},
};

}  // namespace

std::span<const Kernel> TableFileKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::state
