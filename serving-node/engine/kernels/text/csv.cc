// Parses CSV records.
#include <algorithm>

#include "serving-node/engine/kernels/base/numbers.h"
#include "serving-node/engine/kernels/base/texts.h"
#include "serving-node/engine/kernels/text/families.h"

namespace longshore::engine::kernels::text {
namespace {

struct Format {
  char delimiter = ',';
  bool has_quotes = true;
  std::string missing;           // A field is missing if it is empty or has this text.
  std::vector<int64_t> columns;  // Ascending indices of the fields to read; if empty, all fields are read.
  size_t wanted = 0;             // How many fields are read from each record; any other number is an error.
};

Format FormatOf(const Call& call) {
  const auto& attributes = call.attributes();
  return {.delimiter = attributes.Text("field_delim", ",")[0],
          .has_quotes = attributes.Bool("use_quote_delim", true),
          .missing = attributes.Text("na_value", ""),
          .columns = attributes.Ints("select_cols"),
          .wanted = call.inputs.size() - 1};
}

// Reads a field up to the next delimiter and moves `at` behind the delimiter.
Result<std::string> PlainField(const std::string& record, const Format& format, size_t* at) {
  const size_t end = std::min(record.find(format.delimiter, *at), record.size());
  std::string field = record.substr(*at, end - *at);
  if (field.find_first_of(format.has_quotes ? "\"\r\n" : "\r\n") != field.npos)
    return InvalidArgument("Unquoted fields cannot have quotes/CRLFs inside");
  *at = end + 1;
  return field;
}

// Reads a quoted field, in which a doubled quote stands for a quote. `at` must be behind the first quote and is moved
// behind the closing quote and its delimiter.
Result<std::string> QuotedField(const std::string& record, const Format& format, size_t* at) {
  std::string field;
  size_t i = *at;
  while (i + 1 < record.size() && (record[i] != '"' || record[i + 1] != format.delimiter)) {
    if (record[i] == '"' && record[++i] != '"')
      return InvalidArgument("Quote inside a string has to be escaped by another quote");
    field += record[i++];
  }
  if (i >= record.size() || record[i] != '"')
    return InvalidArgument("Quoted field has to end with quote followed by delim or end");
  *at = i + 2;
  return field;
}

// Reads the selected fields of a record. Counts all of them, but keeps only the first `wanted` ones.
class Fields {
 public:
  explicit Fields(const Format& format) : format_(format) {}

  Status Read(const std::string& record) {
    values_.clear();
    column_ = count_ = 0;
    for (size_t at = 0; at < record.size() && !IsDone();) {
      if (record[at] == '\n' || record[at] == '\r') {
        ++at;
        continue;
      }
      const bool is_quoted = format_.has_quotes && record[at] == '"';
      if (is_quoted) ++at;
      ASSIGN_OR_RETURN(auto field, is_quoted ? QuotedField(record, format_, &at) : PlainField(record, format_, &at));
      Add(std::move(field));
    }
    if (!record.empty() && record.back() == format_.delimiter && !IsDone()) Add("");
    return {};
  }

  size_t count() const { return count_; }
  const std::string& operator[](size_t index) const { return values_[index]; }

 private:
  // True if all selected fields are read; the fields behind them are not even parsed.
  bool IsDone() const { return !format_.columns.empty() && count_ == format_.columns.size(); }

  void Add(std::string field) {
    const bool is_wanted = format_.columns.empty() || format_.columns[count_] == column_;
    ++column_;
    if (!is_wanted) return;
    if (count_ < format_.wanted) values_.push_back(std::move(field));
    ++count_;
  }

  const Format& format_;
  std::vector<std::string> values_;
  int64_t column_ = 0;
  size_t count_ = 0;
};

// The position of a field in the outputs: its column and its record.
struct Place {
  size_t column = 0;
  int64_t record = 0;
};

template <typename T>
Status Put(const std::string& field, const Format& format, const Tensor& default_value, Place place, Tensor* out) {
  T& to = Raw<T>(*out)[place.record];
  if (field.empty() || field == format.missing) {
    if (default_value.elements() != 1)
      return InvalidArgument("Field {} is required but missing in record {}!", place.column, place.record);
    to = *Raw<T>(default_value);
    return {};
  }
  if constexpr (std::is_same_v<T, std::string>) {
    to = field;
  } else {
    const auto value = NumberOf<T>(field);
    if (!value)
      return InvalidArgument("Field {} in record {} is not a valid {}: {}", place.column, place.record,
                             DTypeName(default_value.type()), field);
    to = *value;
  }
  return {};
}

using PutField = Status (*)(const std::string&, const Format&, const Tensor&, Place, Tensor*);

// Returns the function that writes a field of the type; nullptr if fields cannot have the type.
PutField PutOf(DType type) {
  switch (type) {
    case DType::kFloat: return Put<float>;
    case DType::kDouble: return Put<double>;
    case DType::kInt32: return Put<int32_t>;
    case DType::kInt64: return Put<int64_t>;
    case DType::kString: return Put<std::string>;
    default: return nullptr;
  }
}

// InvalidArgument unless the default of a column is a scalar, a vector with one value, or empty, which makes the column
// required.
Status CheckDefault(const Call& call, size_t column) {
  const Tensor& default_value = call.in(column + 1);
  if (PutOf(default_value.type()) == nullptr)
    return InvalidArgument("field {} has the unsupported type {}", column, DTypeName(default_value.type()));
  if (default_value.rank() > 1 || default_value.elements() > 1)
    return InvalidArgument("There should only be 1 default per field but field {} has the shape {}", column,
                           ToString(default_value.shape()));
  return {};
}

// Checks that all columns fit into memory, assuming that each string has the length of its default.
Status CheckRoom(const Call& call, size_t columns) {
  int64_t bytes = 0;
  for (size_t i = 0; i < columns; ++i) {
    const Tensor& default_value = call.in(i + 1);
    const bool is_text = default_value.type() == DType::kString;
    bytes += static_cast<int64_t>(is_text ? sizeof(std::string) + LongestOf(default_value)
                                          : ElementBytes(default_value.type()));
  }
  return call.HasRoomFor(DType::kUint8, {call.in(0).elements(), bytes});
}

Outputs DecodeCsv(const Call& call) {
  RETURN_IF_ERROR(CheckText(call, 0));
  const Tensor& records = call.in(0);
  const Format format = FormatOf(call);
  for (size_t i = 0; i < format.wanted; ++i) RETURN_IF_ERROR(CheckDefault(call, i));
  RETURN_IF_ERROR(CheckRoom(call, format.wanted));
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < format.wanted; ++i) {
    ASSIGN_OR_RETURN(outputs.emplace_back(), MakeLike(call.in(i + 1), records.shape()));
  }
  Fields fields(format);
  for (int64_t record = 0; record < records.elements(); ++record) {
    RETURN_IF_ERROR(fields.Read(Raw<std::string>(records)[record]));
    if (fields.count() != format.wanted)
      return InvalidArgument("Expect {} fields but have {} in record {}", format.wanted, fields.count(), record);
    for (size_t i = 0; i < format.wanted; ++i) {
      const Tensor& default_value = call.in(i + 1);
      RETURN_IF_ERROR(PutOf(default_value.type())(fields[i], format, default_value, {i, record}, &outputs[i]));
    }
  }
  return outputs;
}

Status CheckColumns(const graph::Node& node) {
  if (node.attributes.Text("field_delim", ",").size() != 1)
    return Unimplemented("{} with a field_delim that is not one byte", node.op);
  const auto columns = node.attributes.Ints("select_cols");
  if (columns.empty()) return {};
  const bool rises = std::ranges::adjacent_find(columns, std::greater_equal<>()) == columns.end();
  if (columns.size() + 1 == node.inputs.size() && columns[0] >= 0 && rises) return {};
  return Unimplemented("{} with select_cols {}, which do not select {} fields in rising order", node.op,
                       ToString(columns), node.inputs.size() - 1);
}

constexpr Kernel kKernels[] = {
    {.op = "DecodeCSV", .compute = DecodeCsv, .inputs_min = 2, .check = CheckColumns},
};

}  // namespace

std::span<const Kernel> CsvKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::text
