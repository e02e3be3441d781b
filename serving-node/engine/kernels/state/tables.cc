// Lookup tables. The model's initialiser fills them, and requests only read them.
#include "serving-node/engine/kernels/state/tables.h"

#include <algorithm>
#include <cstring>

#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/state/families.h"

namespace longshore::engine::kernels::state {
namespace {

enum class Kind { kFilledOnce, kMutable };

Status Describe(const Call& call, Kind kind, DType key_type, Table* table) {
  const DType value_type = call.attributes().Type("value_dtype", DType::kInt64);
  if (table->key_type == DType::kInvalid) {
    table->key_type = key_type;
    table->value_type = value_type;
    table->is_mutable = kind == Kind::kMutable;
    if (const auto* shape = call.attributes().Find("value_shape"); shape != nullptr) {
      for (const auto& dim : shape->shape().dim()) table->value_shape.push_back(dim.size());
    }
    ASSIGN_OR_RETURN([[maybe_unused]] const int64_t count, tensor::ElementCount(table->value_shape));
  }
  if (table->key_type == key_type && table->value_type == value_type) return {};
  return InvalidArgument("the table maps {} to {}, not {} to {}", DTypeName(table->key_type),
                         DTypeName(table->value_type), DTypeName(key_type), DTypeName(value_type));
}

Result<std::shared_ptr<Table>> Shared(const Call& call, Kind kind, DType key_type) {
  const std::string shared = call.attributes().Text("shared_name", "");
  auto table = call.resources.FindOrMakeTable(shared.empty() ? call.node.name : shared);
  RETURN_IF_ERROR(Describe(call, kind, key_type, table.get()));
  return table;
}

template <Kind kKind>
Outputs Make(const Call& call) {
  ASSIGN_OR_RETURN(auto table, Shared(call, kKind, call.attributes().Type("key_dtype", DType::kString)));
  return One(HandleOf(std::move(table)));
}

// Reserves empty_key and deleted_key of a dense hash table. No row may have one of these keys.
Status Reserve(const Call& call, Table* table) {
  for (const auto& key : call.inputs.first(2)) {
    if (key.type() != table->key_type || key.elements() != 1)
      return InvalidArgument("empty_key and deleted_key must be one {} each", DTypeName(table->key_type));
    table->reserved_keys.insert(KeyOf(key, 0));
  }
  if (table->reserved_keys.size() == 2) return {};
  return InvalidArgument("empty_key and deleted_key cannot be equal");
}

Outputs MakeDense(const Call& call) {
  ASSIGN_OR_RETURN(auto table, Shared(call, Kind::kMutable, call.in(0).type()));
  if (table->reserved_keys.empty()) RETURN_IF_ERROR(Reserve(call, table.get()));
  return One(HandleOf(std::move(table)));
}

std::shared_ptr<Table> MakeForRun(const Call& call) {
  auto table = std::make_shared<Table>(call.tables == nullptr ? std::make_shared<size_t>(0) : call.tables->count());
  table->name = call.node.name;
  return table;
}

template <Kind kKind>
Outputs MakeAnonymous(const Call& call) {
  auto table = MakeForRun(call);
  RETURN_IF_ERROR(Describe(call, kKind, call.attributes().Type("key_dtype", DType::kString), table.get()));
  return One(HandleOf(std::move(table)));
}

Outputs MakeAnonymousDense(const Call& call) {
  auto table = MakeForRun(call);
  RETURN_IF_ERROR(Describe(call, Kind::kMutable, call.in(0).type(), table.get()));
  RETURN_IF_ERROR(Reserve(call, table.get()));
  return One(HandleOf(std::move(table)));
}

Status CheckShapes(const Tensor& keys, const Tensor& values, const Table& table) {
  Shape wanted = keys.shape();
  wanted.insert(wanted.end(), table.value_shape.begin(), table.value_shape.end());
  if (values.shape() == wanted) return {};
  return InvalidArgument("values have the shape {} instead of {} for keys of the shape {}", ToString(values.shape()),
                         ToString(wanted), ToString(keys.shape()));
}

// Returns row `at` of `values`.
RowValue ValueAt(const Tensor& values, int64_t at, const Table& table) {
  const auto count = static_cast<size_t>(table.value_elements()), row = static_cast<size_t>(at);
  if (values.type() == DType::kString)
    return {.texts = values.values<std::string>().subspan(row * count, count), .numbers = {}};
  const size_t bytes = count * tensor::ElementBytes(values.type());
  return {.texts = {}, .numbers = {values.data() + row * bytes, bytes}};
}

bool AreSame(const RowValue& a, const RowValue& b) {
  return std::ranges::equal(a.texts, b.texts) && std::ranges::equal(a.numbers, b.numbers);
}

Status AddRows(const Call& call, Table* table) {
  RETURN_IF_ERROR(CheckRows(call, call.in(1), call.in(2), *table));
  for (int64_t i = 0; i < call.in(1).elements(); ++i) RETURN_IF_ERROR(AddRow(call, call.in(1), call.in(2), i, table));
  table->is_filled = true;
  return {};
}

Outputs Initialize(const Call& call) {
  ASSIGN_OR_RETURN(Table * table, TableOf(call));
  if (table->is_mutable) return InvalidArgument("a mutable table cannot be initialised");
  if (call.in(1).rank() != 1 || call.in(1).elements() == 0)
    return InvalidArgument("keys must be a vector that is not empty, but have the shape {}",
                           ToString(call.in(1).shape()));
  RETURN_IF_ERROR(AddRows(call, table));
  return std::vector<Tensor>{};
}

Result<Table*> MutableTableOf(const Call& call) {
  ASSIGN_OR_RETURN(Table * table, TableOf(call));
  if (!table->is_mutable) return InvalidArgument("the table is not mutable: only its initialiser may fill it");
  return table;
}

Outputs Insert(const Call& call) {
  ASSIGN_OR_RETURN(Table * table, MutableTableOf(call));
  RETURN_IF_ERROR(AddRows(call, table));
  return std::vector<Tensor>{};
}

// Replaces all rows of a mutable table. For a table that is filled only once, does the same as Initialize.
Outputs Import(const Call& call) {
  ASSIGN_OR_RETURN(Table * table, TableOf(call));
  if (!table->is_mutable) return Initialize(call);
  RETURN_IF_ERROR(CheckRows(call, call.in(1), call.in(2), *table));
  table->rows.Clear();
  RETURN_IF_ERROR(AddRows(call, table));
  return std::vector<Tensor>{};
}

Outputs Remove(const Call& call) {
  ASSIGN_OR_RETURN(Table * table, MutableTableOf(call));
  if (call.resources.is_serving && !table->rows.belongs_to_run())
    return FailedPrecondition("tables are only changed while the model loads");
  if (call.in(1).type() != table->key_type)
    return InvalidArgument("keys of {} do not fit a table with keys of {}", DTypeName(call.in(1).type()),
                           DTypeName(table->key_type));
  for (int64_t i = 0; i < call.in(1).elements(); ++i) {
    if (table->reserved_keys.contains(KeyOf(call.in(1), i)))
      return InvalidArgument("the key at index {} is reserved", i);
    table->rows.Remove(KeyOf(call.in(1), i));
  }
  return std::vector<Tensor>{};
}

// Checks the types, and that the default is one value for all keys, or one value for each key.
Status CheckDefault(const Tensor& default_value, const Tensor& keys, const Table& table) {
  if (keys.type() != table.key_type)
    return InvalidArgument("keys of {} do not fit a table with keys of {}", DTypeName(keys.type()),
                           DTypeName(table.key_type));
  if (default_value.type() != table.value_type)
    return InvalidArgument("the default is of {} instead of {}", DTypeName(default_value.type()),
                           DTypeName(table.value_type));
  return default_value.shape() == table.value_shape ? Status() : CheckShapes(keys, default_value, table);
}

// Returns the index of the row of each key; -1 if the table does not have the key.
Result<std::vector<int64_t>> RowsOf(const Tensor& keys, const Table& table) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < keys.elements(); ++i) {
    const std::string key = KeyOf(keys, i);
    if (table.reserved_keys.contains(key)) return InvalidArgument("the key at index {} is reserved", i);
    const auto found = table.rows.by_key().find(key);
    rows.push_back(found == table.rows.by_key().end() ? -1 : found->second);
  }
  return rows;
}

// Returns the value of each row. For a row of -1, returns the default, which is one value for all keys or one for each
// key.
Result<Tensor> ValuesAt(const Call& call, const Table& table, const std::vector<int64_t>& rows, Shape shape,
                        const Tensor& default_value) {
  const int64_t count = table.value_elements();
  shape.insert(shape.end(), table.value_shape.begin(), table.value_shape.end());
  RETURN_IF_ERROR(call.HasRoomFor(table.value_type, shape));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(table.value_type, shape));
  const bool is_for_each = default_value.elements() > count;
  const auto copy = [&](const auto* held, const auto* defaults, int64_t width, auto* to) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto* from =
          rows[i] >= 0 ? held + rows[i] * width : defaults + (is_for_each ? static_cast<int64_t>(i) * width : 0);
      to = std::copy_n(from, width, to);
    }
  };
  if (out.type() == DType::kString)
    copy(table.rows.texts().data(), Raw<std::string>(default_value), count, Raw<std::string>(out));
  else
    copy(table.rows.numbers().data(), default_value.data(),
         count * static_cast<int64_t>(tensor::ElementBytes(out.type())), out.mutable_data());
  return out;
}

Outputs Find(const Call& call) {
  ASSIGN_OR_RETURN(const Table* table, TableOf(call));
  const Tensor& keys = call.in(1);
  if (!table->is_mutable && !table->is_filled) return FailedPrecondition("Table not initialized.");
  RETURN_IF_ERROR(CheckDefault(call.in(2), keys, *table));
  ASSIGN_OR_RETURN(const auto rows, RowsOf(keys, *table));
  return One(ValuesAt(call, *table, rows, keys.shape(), call.in(2)));
}

Outputs SizeOf(const Call& call) {
  ASSIGN_OR_RETURN(const Table* table, TableOf(call));
  return One(Tensor::Of<int64_t>({}, {static_cast<int64_t>(table->rows.by_key().size())}));
}

// Exports the rows in the order in which their keys were added. TensorFlow does not promise any order.
Outputs Export(const Call& call) {
  ASSIGN_OR_RETURN(const Table* table, TableOf(call));
  std::vector<std::pair<int64_t, std::string>> ordered;
  for (const auto& [key, row] : table->rows.by_key()) ordered.emplace_back(row, key);
  std::ranges::sort(ordered);
  const auto count = static_cast<int64_t>(ordered.size());
  RETURN_IF_ERROR(call.HasRoomFor(table->key_type, {count}));
  ASSIGN_OR_RETURN(Tensor keys, Tensor::Make(table->key_type, {count}));
  std::vector<int64_t> rows;
  for (size_t i = 0; i < ordered.size(); ++i) {
    const auto& [row, key] = ordered[i];
    rows.push_back(row);
    if (keys.type() == DType::kString)
      keys.mutable_values<std::string>()[i] = key;
    else
      std::memcpy(keys.mutable_data() + i * key.size(), key.data(), key.size());
  }
  ASSIGN_OR_RETURN(Tensor values, ValuesAt(call, *table, rows, {count}, {}));
  return std::vector<Tensor>{keys, values};
}

constexpr Kernel kKernels[] = {
    {.op = "AnonymousHashTable", .compute = MakeAnonymous<Kind::kFilledOnce>, .is_foldable = false},
    {.op = "AnonymousMutableDenseHashTable", .compute = MakeAnonymousDense, .inputs_min = 2, .is_foldable = false},
    {.op = "AnonymousMutableHashTable", .compute = MakeAnonymous<Kind::kMutable>, .is_foldable = false},
    {.op = "AnonymousMutableHashTableOfTensors", .compute = MakeAnonymous<Kind::kMutable>, .is_foldable = false},
    {.op = "HashTable", .compute = Make<Kind::kFilledOnce>},
    {.op = "HashTableV2", .compute = Make<Kind::kFilledOnce>},
    {.op = "InitializeTable", .compute = Initialize, .inputs_min = 3, .is_foldable = false},
    {.op = "InitializeTableV2", .compute = Initialize, .inputs_min = 3, .is_foldable = false},
    {.op = "LookupTableExport", .compute = Export, .inputs_min = 1, .reads_table = true},
    {.op = "LookupTableExportV2", .compute = Export, .inputs_min = 1, .reads_table = true},
    {.op = "LookupTableFind", .compute = Find, .inputs_min = 3, .reads_table = true},
    {.op = "LookupTableFindV2", .compute = Find, .inputs_min = 3, .reads_table = true},
    {.op = "LookupTableImport", .compute = Import, .inputs_min = 3, .is_foldable = false},
    {.op = "LookupTableImportV2", .compute = Import, .inputs_min = 3, .is_foldable = false},
    {.op = "LookupTableInsert", .compute = Insert, .inputs_min = 3, .is_foldable = false},
    {.op = "LookupTableInsertV2", .compute = Insert, .inputs_min = 3, .is_foldable = false},
    {.op = "LookupTableRemoveV2", .compute = Remove, .inputs_min = 2, .is_foldable = false},
    {.op = "LookupTableSize", .compute = SizeOf, .inputs_min = 1, .reads_table = true},
    {.op = "LookupTableSizeV2", .compute = SizeOf, .inputs_min = 1, .reads_table = true},
    {.op = "MutableDenseHashTableV2", .compute = MakeDense, .inputs_min = 2},
    {.op = "MutableHashTable", .compute = Make<Kind::kMutable>},
    {.op = "MutableHashTableOfTensorsV2", .compute = Make<Kind::kMutable>},
    {.op = "MutableHashTableV2", .compute = Make<Kind::kMutable>},
};

}  // namespace

Result<Table*> TableOf(const Call& call) {
  auto* table = ResourceOf<Table>(call.in(0));
  if (table == nullptr) return InvalidArgument("the first input is not a table");
  return table;
}

std::string KeyOf(const Tensor& keys, int64_t at) {
  if (keys.type() == DType::kString) return Raw<std::string>(keys)[at];
  const size_t bytes = tensor::ElementBytes(keys.type());
  return {reinterpret_cast<const char*>(keys.data()) + static_cast<size_t>(at) * bytes, bytes};
}

Status AddRow(const Call& call, const Tensor& keys, const Tensor& values, int64_t at, Table* table) {
  const std::string key = KeyOf(keys, at);
  if (table->reserved_keys.contains(key)) return InvalidArgument("the key at index {} is reserved", at);
  auto& rows = table->rows;
  if (rows.rows_added() == kTableRowsMax)
    return ResourceExhausted("a table must not have more than {} rows", kTableRowsMax);
  const RowValue value = ValueAt(values, at, *table);
  const auto held = rows.by_key().find(key);
  if (held != rows.by_key().end() && !table->is_mutable) {
    if (AreSame(rows.At(held->second), value)) return {};
    return FailedPrecondition("HashTable has different value for same key: the key at index {} is already in the table",
                              at);
  }
  const size_t room_bytes = rows.belongs_to_run() ? call.LeftBytes() : SIZE_MAX;
  const bool fits =
      held == rows.by_key().end() ? rows.Add(key, value, room_bytes) : rows.Replace(held->second, value, room_bytes);
  if (fits) return {};
  return ResourceExhausted(
      "table \"{}\" of {} bytes: a row does not fit into the {} bytes that are left of the run's memory", table->name,
      rows.bytes(), room_bytes);
}

Status CheckRows(const Call& call, const Tensor& keys, const Tensor& values, const Table& table) {
  if (call.resources.is_serving && !table.rows.belongs_to_run())
    return FailedPrecondition("tables are only filled while the model loads");
  if (keys.type() != table.key_type || values.type() != table.value_type) {
    return InvalidArgument("rows that map {} to {} do not fit a table that maps {} to {}", DTypeName(keys.type()),
                           DTypeName(values.type()), DTypeName(table.key_type), DTypeName(table.value_type));
  }
  return CheckShapes(keys, values, table);
}

std::span<const Kernel> TableKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::state
