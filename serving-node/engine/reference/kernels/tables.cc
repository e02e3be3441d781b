// Lookup tables: filled by the model's initialiser, only read by requests.
#include <charconv>
#include <sstream>

#include "serving-node/engine/reference/kernels/types.h"

namespace longshore::engine::reference::kernels {
namespace {

constexpr size_t kTableRowsMax = 50'000'000;

Outputs HashTableV2(const Call& call) {
  const std::string shared = call.attributes().Text("shared_name", "");
  const auto table = call.resources.FindOrMakeTable(shared.empty() ? call.node.name : shared);
  table->key_type = call.attributes().Type("key_dtype", DType::kString);
  table->value_type = call.attributes().Type("value_dtype", DType::kInt64);
  return One(HandleOf(table));
}

Result<Table*> TableOf(const Call& call) {
  auto* table = ResourceOf<Table>(call.in(0));
  if (table == nullptr) return InvalidArgument("the first input is no table");
  return table;
}

// Every key as text: strings as they are, integers in decimal.
Result<std::vector<std::string>> KeysOf(const Tensor& keys) {
  if (keys.type() == DType::kString)
    return std::vector<std::string>(keys.values<std::string>().begin(), keys.values<std::string>().end());
  ASSIGN_OR_RETURN(const Tensor flat, keys.Reshaped({keys.elements()}));
  ASSIGN_OR_RETURN(const auto numbers, IntsOf(flat, "keys", kTableRowsMax));
  std::vector<std::string> texts;
  for (const int64_t number : numbers) texts.push_back(std::to_string(number));
  return texts;
}

Status AddRow(const std::string& key, const Tensor& values, int64_t at, Table* table) {
  if (table->rows.size() == kTableRowsMax) return ResourceExhausted("a table of more than {} rows", kTableRowsMax);
  const auto [row, is_new] = table->rows.emplace(key, static_cast<int64_t>(table->rows.size()));
  if (!is_new) return {};
  const auto index = static_cast<size_t>(at);
  switch (values.type()) {
    case DType::kString: table->text_values.push_back(values.values<std::string>()[index]); return {};
    case DType::kFloat: table->number_values.push_back(values.values<float>()[index]); return {};
    case DType::kInt32: table->int_values.push_back(values.values<int32_t>()[index]); return {};
    case DType::kInt64: table->int_values.push_back(values.values<int64_t>()[index]); return {};
    default: return InvalidArgument("values of {}", DTypeName(values.type()));
  }
}

Outputs Import(const Call& call) {
  ASSIGN_OR_RETURN(Table * table, TableOf(call));
  if (call.resources.is_serving) return FailedPrecondition("tables are only filled while the model loads");
  ASSIGN_OR_RETURN(const auto keys, KeysOf(call.in(1)));
  if (static_cast<int64_t>(keys.size()) != call.in(2).elements())
    return InvalidArgument("{} keys and {} values", keys.size(), call.in(2).elements());
  if (call.in(2).type() != table->value_type)
    return InvalidArgument("values of {} for a table of {}", DTypeName(call.in(2).type()),
                           DTypeName(table->value_type));
  for (size_t i = 0; i < keys.size(); ++i) RETURN_IF_ERROR(AddRow(keys[i], call.in(2), static_cast<int64_t>(i), table));
  return std::vector<Tensor>{};
}

// Columns of a text file: -2 is the whole line, -1 the line's number, else a field.
std::string Field(const std::string& line, int64_t line_number, int64_t column, char delimiter) {
  if (column == -2) return line;
  if (column == -1) return std::to_string(line_number);
  std::istringstream fields(line);
  std::string field;
  for (int64_t i = 0; i <= column; ++i) {
    if (!std::getline(fields, field, delimiter)) return "";
  }
  return field;
}

Result<Tensor> ValueOf(const std::string& text, DType type) {
  if (type == DType::kString) return Tensor::Of<std::string>({}, {text});
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return InvalidArgument("\"{}\" is no number", text);
  if (type == DType::kInt32) return Tensor::Of<int32_t>({}, {static_cast<int32_t>(number)});
  if (type == DType::kInt64) return Tensor::Of<int64_t>({}, {number});
  return InvalidArgument("values of {}", DTypeName(type));
}

Outputs FromTextFile(const Call& call) {
  ASSIGN_OR_RETURN(Table * table, TableOf(call));
  if (call.in(1).type() != DType::kString || call.in(1).elements() != 1)
    return InvalidArgument("the file's name must be one string");
  const std::string name = call.in(1).values<std::string>()[0];
  if (!call.resources.readable_files.contains(name))
    return FailedPrecondition("\"{}\" is no asset of this version", name);
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(name));
  const auto& attributes = call.attributes();
  const std::string delimiter = attributes.Text("delimiter", "\t");
  const int64_t rows_max = attributes.Int("vocab_size", -1);
  const int64_t skip = attributes.Int("offset", 0);
  std::istringstream lines(bytes);
  std::string line;
  for (int64_t i = 0; std::getline(lines, line) && (rows_max < 0 || i - skip < rows_max); ++i) {
    if (i < skip) continue;
    if (line.ends_with('\r')) line.pop_back();
    const char mark = delimiter.empty() ? '\t' : delimiter[0];
    ASSIGN_OR_RETURN(const Tensor value,
                     ValueOf(Field(line, i - skip, attributes.Int("value_index", -1), mark), table->value_type));
    RETURN_IF_ERROR(AddRow(Field(line, i - skip, attributes.Int("key_index", -2), mark), value, 0, table));
  }
  return std::vector<Tensor>{};
}

Outputs Find(const Call& call) {
  ASSIGN_OR_RETURN(const Table* table, TableOf(call));
  const Tensor& otherwise = call.in(2);
  if (otherwise.type() != table->value_type || otherwise.elements() != 1)
    return InvalidArgument("the default must be one {}", DTypeName(table->value_type));
  if (call.in(1).type() != table->key_type)
    return InvalidArgument("keys of {} for a table of {}", DTypeName(call.in(1).type()), DTypeName(table->key_type));
  ASSIGN_OR_RETURN(const auto keys, KeysOf(call.in(1)));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(otherwise, call.in(1).shape()));
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto found = table->rows.find(keys[i]);
    const bool has = found != table->rows.end();
    const auto row = has ? static_cast<size_t>(found->second) : 0;
    switch (out.type()) {
      case DType::kString:
        Raw<std::string>(out)[i] = has ? table->text_values[row] : *Raw<std::string>(otherwise);
        break;
      case DType::kFloat:
        Raw<float>(out)[i] = has ? static_cast<float>(table->number_values[row]) : *Raw<float>(otherwise);
        break;
      case DType::kInt32:
        Raw<int32_t>(out)[i] = has ? static_cast<int32_t>(table->int_values[row]) : *Raw<int32_t>(otherwise);
        break;
      case DType::kInt64: Raw<int64_t>(out)[i] = has ? table->int_values[row] : *Raw<int64_t>(otherwise); break;
      default: return WrongType(out.type());
    }
  }
  return One(out);
}

Outputs SizeOf(const Call& call) {
  ASSIGN_OR_RETURN(const Table* table, TableOf(call));
  return One(Tensor::Of<int64_t>({}, {static_cast<int64_t>(table->rows.size())}));
}

constexpr Kernel kKernels[] = {
    {.op = "HashTableV2", .compute = HashTableV2},
    {.op = "InitializeTableFromTextFileV2", .compute = FromTextFile, .inputs_min = 2, .is_foldable = false},
    {.op = "InitializeTableV2", .compute = Import, .inputs_min = 3, .is_foldable = false},
    {.op = "LookupTableFindV2", .compute = Find, .inputs_min = 3},
    {.op = "LookupTableImportV2", .compute = Import, .inputs_min = 3, .is_foldable = false},
    {.op = "LookupTableSizeV2", .compute = SizeOf, .inputs_min = 1},
};

}  // namespace

std::span<const Kernel> TableKernels() { return kKernels; }

}  // namespace longshore::engine::reference::kernels
