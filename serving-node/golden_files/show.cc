#include "serving-node/golden_files/show.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "common/json/json.h"
#include "serving-node/golden_files/brief.h"
#include "serving-node/golden_files/progress.h"
#include "serving-node/golden_set/records.h"
#include "serving-node/inspect/text.h"

namespace longshore::golden_files {
namespace {

using golden_set::Record;
using tensor::Tensor;

constexpr int64_t kClassesMax = 1000;  // Outputs with more columns are not counted by class.

// What all tensors of one name have in common.
struct Summary {
  std::set<std::string> types;
  std::optional<tensor::Shape> shape;  // -1 where records differ; nullopt if they differ in the rank.
  int64_t records = 0;
  std::map<int64_t, int64_t> classes;  // How many rows have their largest score in each column.

  void Add(const Tensor& values, bool count_classes);
};

struct SignatureSummary {
  int64_t records = 0;
  std::map<std::string, Summary> inputs;
  std::map<std::string, Summary> answers;
};

void Summary::Add(const Tensor& values, bool count_classes) {
  types.insert(std::string(DTypeName(values.type())));
  if (records++ == 0) shape = values.shape();
  if (shape && shape->size() != values.shape().size()) shape.reset();
  for (size_t i = 0; shape && i < shape->size(); ++i)
    if ((*shape)[i] != values.shape()[i]) (*shape)[i] = -1;
  const int64_t columns = values.rank() == 0 ? 1 : values.dim(values.rank() - 1);
  if (!count_classes || values.type() != tensor::DType::kFloat || columns < 2 || columns > kClassesMax) return;
  const auto scores = values.values<float>();
  for (size_t row = 0; row < scores.size(); row += static_cast<size_t>(columns)) {
    const auto of_row = scores.subspan(row, static_cast<size_t>(columns));
    ++classes[std::ranges::max_element(of_row) - of_row.begin()];
  }
}

void AddRecord(const Record& record, std::map<std::string, SignatureSummary>* signatures) {
  SignatureSummary& summary = (*signatures)[record.request.signature];
  ++summary.records;
  for (const auto& [name, values] : record.request.inputs) summary.inputs[name].Add(values, false);
  for (const auto& [name, values] : record.expected) summary.answers[name].Add(values, true);
}

std::string ShapeText(const Summary& summary) { return tensor::ToString(summary.shape); }

std::string TensorText(std::string_view what, const std::string& name, const Summary& summary, int64_t records) {
  const std::string some =
      summary.records == records ? "" : fmt::format("  in {} of {} records", summary.records, records);
  std::string text =
      fmt::format("  {:<7} {}  {} {}{}\n", what, name, fmt::join(summary.types, " or "), ShapeText(summary), some);
  if (summary.classes.empty()) return text;
  text += "          largest in column (rows):";
  for (const auto& [column, rows] : summary.classes) text += fmt::format(" {} ({})", column, rows);
  return text + "\n";
}

std::string ToText(const std::map<std::string, SignatureSummary>& signatures) {
  std::string text;
  for (const auto& [name, summary] : signatures) {
    text += fmt::format("signature {}: {}\n", name, inspect::CountText(summary.records, "record"));
    for (const auto& [input, each] : summary.inputs) text += TensorText("input", input, each, summary.records);
    for (const auto& [output, each] : summary.answers) text += TensorText("answer", output, each, summary.records);
  }
  return text;
}

Json ToJson(const std::map<std::string, Summary>& tensors) {
  Json json = Json::object();
  for (const auto& [name, summary] : tensors) {
    Json& one = json[name] = {{"dtypes", summary.types}, {"records", summary.records}};
    one["shape"] = summary.shape ? Json(*summary.shape) : Json();
    for (const auto& [column, rows] : summary.classes) one["rows_by_largest_column"][std::to_string(column)] = rows;
  }
  return json;
}

Json ToJson(const std::map<std::string, SignatureSummary>& signatures) {
  Json json = Json::object();
  for (const auto& [name, summary] : signatures)
    json[name] = {
        {"records", summary.records}, {"inputs", ToJson(summary.inputs)}, {"answers", ToJson(summary.answers)}};
  return json;
}

std::string RecordText(size_t index, uint64_t offset, const Record& record) {
  return fmt::format("record {} at byte {}, signature {}\n{}{}", index, offset, record.request.signature,
                     Brief(record.request.inputs, "  input   "), Brief(record.expected, "  answer  "));
}

}  // namespace

Status Show(const Options& options, std::ostream& out, std::ostream& notes) {
  ASSIGN_OR_RETURN(auto reader, golden_set::RecordReader::Open(options.file));
  std::map<std::string, SignatureSummary> signatures;
  std::string first;
  int64_t records = 0;
  Progress progress("read", notes);
  while (true) {
    ASSIGN_OR_RETURN(const auto record, reader.Next());
    if (!record) break;
    AddRecord(*record, &signatures);
    if (reader.index() < options.records) first += RecordText(reader.index(), reader.offset(), *record);
    progress.Done(static_cast<size_t>(++records));
  }
  if (options.json) {
    out << DumpJson({{"records", records}, {"signatures", ToJson(signatures)}}, 2) << "\n";
    return {};
  }
  out << fmt::format("{}: {}, {}\n", options.file.string(), inspect::CountText(records, "record"),
                     inspect::BytesText(static_cast<int64_t>(std::filesystem::file_size(options.file))))
      << ToText(signatures) << first;
  return {};
}

}  // namespace longshore::golden_files
