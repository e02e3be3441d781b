// Lookup tables filled with the lines of a text file: an asset of the version, read while it loads and never later.
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "serving-node/engine/reference/kernels/tables.h"
#include "serving-node/engine/reference/kernels/types.h"

namespace longshore::engine::reference::kernels {
namespace {

// Where keys and values are in a line: -2 is the whole line, -1 the line's number, else a field.
struct Columns {
  int64_t key = -2, value = -1;
  char delimiter = '\t';
};

Result<std::string> Field(const std::string& line, int64_t line_number, int64_t column, char delimiter) {
  if (column == -2) return line;
  if (column == -1) return std::to_string(line_number);
  size_t begin = 0;
  for (int64_t i = 0; i < column; ++i) {
    begin = line.find(delimiter, begin);
    if (begin == line.npos) return InvalidArgument("line {} has {} columns, not {}", line_number, i + 1, column + 1);
    ++begin;
  }
  return line.substr(begin, line.find(delimiter, begin) - begin);
}

template <typename T>
Result<Tensor> Number(const std::string& text) {
  T number{};
  if constexpr (std::is_floating_point_v<T>) {
    char* end = nullptr;
    number = static_cast<T>(std::strtod(text.c_str(), &end));
    if (end == text.c_str() || end != text.c_str() + text.size())
      return InvalidArgument("Field {} is no valid number", text);
  } else {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
      return InvalidArgument("Field {} is no valid {}", text, DTypeName(tensor::DTypeOf<T>()));
  }
  return Tensor::Of<T>({}, {number});
}

Result<Tensor> ScalarOf(const std::string& text, DType type) {
  switch (type) {
    case DType::kString: return Tensor::Of<std::string>({}, {text});
    case DType::kInt32: return Number<int32_t>(text);
    case DType::kInt64: return Number<int64_t>(text);
    case DType::kFloat: return Number<float>(text);
    case DType::kDouble: return Number<double>(text);
    default: return InvalidArgument("a column of {}", DTypeName(type));
  }
}

// `number`: of the line, offset included.
Status AddLine(const Call& call, const std::string& line, int64_t number, const Columns& columns, Table* table) {
  ASSIGN_OR_RETURN(const std::string key_text, Field(line, number, columns.key, columns.delimiter));
  ASSIGN_OR_RETURN(const std::string value_text, Field(line, number, columns.value, columns.delimiter));
  ASSIGN_OR_RETURN(const Tensor key, ScalarOf(key_text, table->key_type));
  ASSIGN_OR_RETURN(const Tensor value, ScalarOf(value_text, table->value_type));
  RETURN_IF_ERROR(CheckRows(call, key, value, *table));
  return AddRow(call, key, value, 0, table);
}

Result<std::string> ReadAsset(const Call& call) {
  if (call.in(1).type() != DType::kString || call.in(1).elements() != 1)
    return InvalidArgument("the file's name must be one string");
  const std::string name = call.in(1).values<std::string>()[0];
  if (!call.resources.readable_files.contains(name))
    return FailedPrecondition("\"{}\" is no asset of this version", name);
  return ReadFile(name);
}

Outputs FromTextFile(const Call& call) {
  ASSIGN_OR_RETURN(Table * table, TableOf(call));
  if (table->is_mutable) return InvalidArgument("a mutable table has no initialiser");
  ASSIGN_OR_RETURN(const std::string bytes, ReadAsset(call));
  const auto& attributes = call.attributes();
  const std::string delimiter = attributes.Text("delimiter", "\t");
  const Columns columns{.key = attributes.Int("key_index", -2),
                        .value = attributes.Int("value_index", -1),
                        .delimiter = delimiter.empty() ? '\t' : delimiter[0]};
  const int64_t rows_max = attributes.Int("vocab_size", -1);
  const int64_t offset = attributes.Int("offset", 0);  // Added to line numbers; no line is left out.
  std::istringstream lines(bytes);
  std::string line;
  int64_t at = 0;
  for (; (rows_max < 0 || at < rows_max) && std::getline(lines, line); ++at) {
    if (line.ends_with('\r')) line.pop_back();
    RETURN_IF_ERROR(AddLine(call, line, at + offset, columns, table));
  }
  if (rows_max >= 0 && at < rows_max)
    return InvalidArgument("Invalid vocab_size: expected {} but got {}", rows_max, at);
  table->is_filled = true;
  return std::vector<Tensor>{};
}

constexpr Kernel kKernels[] = {
    {.op = "InitializeTableFromTextFile", .compute = FromTextFile, .inputs_min = 2, .is_foldable = false},
    {.op = "InitializeTableFromTextFileV2", .compute = FromTextFile, .inputs_min = 2, .is_foldable = false},
};

}  // namespace

std::span<const Kernel> TableFileKernels() { return kKernels; }

}  // namespace longshore::engine::reference::kernels
