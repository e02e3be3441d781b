#include "serving-node/golden_files/from_csv.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

#include "common/base/trimmed.h"
#include "common/os/file.h"
#include "serving-node/golden_files/columns.h"
#include "serving-node/golden_files/draft.h"
#include "serving-node/golden_files/labels.h"
#include "serving-node/golden_files/progress.h"
#include "serving-node/golden_files/split.h"
#include "serving-node/golden_files/trusted_version.h"
#include "serving-node/inspect/inputs.h"
#include "serving-node/saved_model/saved_model.h"
#include "serving-node/tensor/info.h"

namespace longshore::golden_files {
namespace {

using tensorflow::SignatureDef;

constexpr size_t kClassesBytesMax = 4 << 20;

// One word is the name of a file and stands for its lines: a choice from one class would be none.
Result<std::vector<std::string>> ClassNames(const std::vector<std::string>& words) {
  if (words.size() != 1) return words;
  std::error_code ignored;
  if (!std::filesystem::exists(words.front(), ignored))
    return InvalidArgument(
        "--classes: the file {} does not exist; write NAME,NAME,..., or a file with one name per line", words.front());
  ASSIGN_OR_RETURN(const std::string text, ReadFile(words.front(), kClassesBytesMax));
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (const std::string_view name = Trimmed(line, " \t\r"); !name.empty()) names.emplace_back(name);
  }
  if (names.empty()) return InvalidArgument("--classes: the file {} names no class", words.front());
  return names;
}

using NamedColumns = std::map<std::string, std::vector<std::string>>;

Result<NamedColumns> ParseColumns(const std::vector<std::string>& texts, const SignatureDef& signature) {
  NamedColumns named;
  for (const std::string& text : texts) {
    Assignment each = SplitAssignment(text);
    if (!signature.inputs().contains(each.name))
      return InvalidArgument("--column {}: the signature has no input \"{}\"", text, each.name);
    named[each.name] = std::move(each.values);
  }
  return named;
}

// The columns of each input. An input with a default value may have none.
Result<std::map<std::string, Columns>> FindInputs(const CsvOptions& options, const CsvReader& csv,
                                                  const SignatureDef& signature) {
  ASSIGN_OR_RETURN(const NamedColumns named, ParseColumns(options.columns, signature));
  std::map<std::string, Columns> inputs;
  for (const auto& [name, info] : signature.inputs()) {
    const auto given = named.find(name);
    auto columns = FindColumns(csv, name, given == named.end() ? std::vector<std::string>{} : given->second);
    const std::string what = fmt::format("input \"{}\"", name);
    if (!columns && columns.error().code == Code::kNotFound && signature.defaults().contains(name)) continue;
    if (!columns)
      return InvalidArgument("{} {} {}: {}; --column {}=COLUMN names others", what,
                             DTypeName(tensor::FromProto(info.dtype())), tensor::ToString(tensor::PatternOf(info)),
                             columns.error().message, name);
    columns->what = what;
    columns->info = info;
    inputs.emplace(name, std::move(*columns));
  }
  return inputs;
}

// The columns of the table that are neither inputs nor labels.
std::vector<std::string> UnusedColumns(const CsvReader& csv, const std::map<std::string, Columns>& inputs,
                                       const std::vector<Label>& labels) {
  std::set<size_t> used;
  for (const auto& [_, columns] : inputs) used.insert(columns.positions.begin(), columns.positions.end());
  for (const Label& label : labels) used.insert(label.columns.positions.begin(), label.columns.positions.end());
  std::vector<std::string> unused;
  for (size_t i = 0; i < csv.header().size(); ++i)
    if (!used.contains(i)) unused.push_back(csv.header()[i].empty() ? "\"\"" : csv.header()[i]);
  return unused;
}

// A table, and how its rows become records.
class Table {
 public:
  static Result<Table> Open(const Options& options, std::string_view text, const SignatureDef& signature) {
    ASSIGN_OR_RETURN(CsvReader csv, CsvReader::Open(text, options.csv.separator));
    Table table(options, std::move(csv));
    ASSIGN_OR_RETURN(table.inputs_, FindInputs(options.csv, table.csv_, signature));
    ASSIGN_OR_RETURN(table.labels_, FindLabels(options.csv, table.csv_, signature));
    return table;
  }

  // Returns nullopt at the end. The version gives the known answers if there are no labels.
  Result<std::optional<golden_set::Record>> Next(TrustedVersion& version) {
    ASSIGN_OR_RETURN(const std::optional<CsvRow> row, csv_.Next());
    if (!row) return std::nullopt;
    auto record = RecordOf(*row, version);
    if (!record) return Prefixed(record.error(), fmt::format("line {}", row->line));
    return std::move(*record);
  }

  std::string UnusedText() const {
    const auto unused = UnusedColumns(csv_, inputs_, labels_);
    return unused.empty() ? "" : fmt::format("columns without use: {}\n", fmt::join(unused, ", "));
  }

 private:
  Table(const Options& options, CsvReader csv) : options_(options), csv_(std::move(csv)) {}

  Result<golden_set::Record> RecordOf(const CsvRow& row, TrustedVersion& version) const {
    golden_set::Record record;
    record.request.signature = options_.signature;
    for (const auto& [name, columns] : inputs_) {
      ASSIGN_OR_RETURN(record.request.inputs[name], TensorOf(columns, csv_, row));
    }
    record.request.outputs = options_.outputs;
    ASSIGN_OR_RETURN(record.expected,
                     labels_.empty() ? version.Answer(record.request) : Answers(labels_, options_.csv, csv_, row));
    return record;
  }

  const Options& options_;
  CsvReader csv_;
  std::map<std::string, Columns> inputs_;
  std::vector<Label> labels_;
};

Status WriteRecords(Table& table, TrustedVersion& version, Draft& draft, std::ostream& notes) {
  notes << table.UnusedText();
  Progress progress("made", notes);
  while (true) {
    ASSIGN_OR_RETURN(auto record, table.Next(version));
    if (!record) return {};
    RETURN_IF_ERROR(draft.Add(std::move(*record)));
    progress.Done(draft.records());
  }
}

}  // namespace

Status FromCsv(Options options, const Path& version_dir, std::ostream& out, std::ostream& notes) {
  ASSIGN_OR_RETURN(options.csv.classes, ClassNames(options.csv.classes));
  ASSIGN_OR_RETURN(Draft draft, Draft::Open(options.out));
  ASSIGN_OR_RETURN(const auto meta, saved_model::ReadMetaGraph(version_dir, engine::LoadOptions{}.tags));
  ASSIGN_OR_RETURN(const SignatureDef* signature, inspect::FindSignature(meta.signature_def(), options.signature));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(options.csv.file));
  TrustedVersion version(version_dir);
  auto table = Table::Open(options, text, *signature);
  const Status made = table ? WriteRecords(*table, version, draft, notes) : Status(tl::make_unexpected(table.error()));
  if (!made) return Prefixed(made.error(), options.csv.file.string());
  RETURN_IF_ERROR(draft.Write());
  out << fmt::format("{}: {} records; the known answers are {}\n", draft.file().string(), draft.records(),
                     options.csv.labels.empty() ? "those of " + version_dir.string() : "the labels");
  return {};
}

}  // namespace longshore::golden_files
