#include "serving-node/golden_files/labels.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "common/base/text.h"
#include "serving-node/golden_files/split.h"
#include "serving-node/tensor/info.h"

namespace longshore::golden_files {
namespace {

using tensor::Tensor;
using tensorflow::SignatureDef;
using tensorflow::TensorInfo;

std::vector<std::string> OutputsOf(const SignatureDef& signature) {
  std::vector<std::string> names;
  for (const auto& [name, _] : signature.outputs()) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

// The number of classes if the output has float scores with a fixed number of columns above 1; otherwise 0.
int64_t ClassesOf(const TensorInfo& info) {
  const auto pattern = tensor::PatternOf(info);
  const bool has_scores = info.dtype() == tensorflow::DT_FLOAT && pattern && !pattern->empty() && pattern->back() > 1;
  return has_scores ? pattern->back() : 0;
}

// The output that the metric top1 compares; otherwise the only output.
Result<std::string> DefaultOutput(const SignatureDef& signature) {
  const auto names = OutputsOf(signature);
  for (const std::string& name : names)
    if (ClassesOf(signature.outputs().at(name)) > 0) return name;
  if (names.size() == 1) return names.front();
  return InvalidArgument("the signature has {} outputs: write OUTPUT=COLUMN, with one of: {}", names.size(),
                         fmt::join(names, ", "));
}

// How many classes the label chooses from; 0 if it is a value. InvalidArgument if --classes does not fit the output.
Result<int64_t> ClassesOfLabel(const CsvOptions& options, const Label& label) {
  const int64_t classes = ClassesOf(label.columns.info);
  const auto named = static_cast<int64_t>(options.classes.size());
  if (named > 0 && classes > 0 && named != classes)
    return InvalidArgument("--classes names {} classes, but the output \"{}\" has {} columns", named, label.output,
                           classes);
  return label.columns.positions.size() == 1 && !label.columns.is_list ? classes : 0;
}

Result<Label> FindLabel(const CsvOptions& options, const std::string& text, const CsvReader& csv,
                        const SignatureDef& signature) {
  // A column may have a name with "=".
  const bool is_column = text.find('=') == text.npos || csv.Column(text).has_value();
  Assignment named = is_column ? Assignment{"", {text}} : SplitAssignment(text);
  Label label{.output = named.name, .columns = {}, .classes = 0};
  if (label.output.empty()) {
    ASSIGN_OR_RETURN(label.output, DefaultOutput(signature));
  }
  const auto info = signature.outputs().find(label.output);
  if (info == signature.outputs().end())
    return InvalidArgument("the signature has no output \"{}\"; its outputs are: {}", label.output,
                           fmt::join(OutputsOf(signature), ", "));
  const bool is_single = named.values.size() == 1;
  ASSIGN_OR_RETURN(label.columns, is_single ? FindColumns(csv, named.values.front(), {})
                                            : FindColumns(csv, label.output, named.values));
  label.columns.what = fmt::format("output \"{}\"", label.output);
  label.columns.info = info->second;
  ASSIGN_OR_RETURN(label.classes, ClassesOfLabel(options, label));
  return label;
}

// Returns nullopt if the cell is neither the name of a class nor a number.
std::optional<int64_t> ClassIn(const std::string& cell, const std::vector<std::string>& classes) {
  const auto named = std::ranges::find(classes, cell);
  if (named != classes.end()) return named - classes.begin();
  if (!classes.empty()) return std::nullopt;
  double number = 0;  // pandas writes the class 7 as 7.0 if the column has gaps.
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  const bool is_whole = error == std::errc() && end == cell.data() + cell.size() && number == std::floor(number);
  return is_whole && std::abs(number) < 1e9 ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
}

Result<Tensor> ScoresOf(const Label& label, const CsvOptions& options, const CsvReader& csv, const CsvRow& row) {
  const size_t position = label.columns.positions.front();
  const std::string& cell = row.fields[position];
  const auto chosen = ClassIn(cell, options.classes);
  if (!chosen || *chosen < 0 || *chosen >= label.classes) {
    const std::string known = options.classes.empty()
                                  ? fmt::format("a class of {}: a number from 0 to {}, or a name in --classes",
                                                label.columns.what, label.classes - 1)
                                  : fmt::format("in --classes: {}", fmt::join(options.classes, ", "));
    return InvalidArgument("column \"{}\": \"{}\" is not {}", csv.header()[position], CutText(cell, kCellShownBytesMax),
                           known);
  }
  std::vector<float> scores(static_cast<size_t>(label.classes));
  scores[static_cast<size_t>(*chosen)] = 1;
  return AsRow(Tensor::Of<float>({label.classes}, scores), label.columns.info);
}

}  // namespace

Result<std::vector<Label>> FindLabels(const CsvOptions& options, const CsvReader& csv, const SignatureDef& signature) {
  std::vector<Label> labels;
  for (const std::string& text : options.labels) {
    auto label = FindLabel(options, text, csv, signature);
    if (!label) return Prefixed(label.error(), "--label " + text);
    for (const Label& other : labels) {
      if (other.output == label->output)
        return InvalidArgument("--label {}: the output \"{}\" has two labels", text, label->output);
    }
    labels.push_back(std::move(*label));
  }
  const bool has_classes = std::ranges::any_of(labels, [](const Label& label) { return label.classes > 0; });
  if (!options.classes.empty() && !has_classes)
    return InvalidArgument("--classes has no effect: output \"{}\" is a value and not the scores of classes",
                           labels.front().output);
  return labels;
}

Result<engine::TensorMap> Answers(const std::vector<Label>& labels, const CsvOptions& options, const CsvReader& csv,
                                  const CsvRow& row) {
  engine::TensorMap answers;
  for (const Label& label : labels) {
    const std::string& cell = row.fields[label.columns.positions.front()];
    const bool is_class = label.classes > 0 && !cell.starts_with('[');  // "[" begins a list of scores.
    ASSIGN_OR_RETURN(answers[label.output],
                     is_class ? ScoresOf(label, options, csv, row) : TensorOf(label.columns, csv, row));
  }
  return answers;
}

}  // namespace longshore::golden_files
