// Makes known answers of the label columns of a table.
//
// A label is the value of an output. For an output of float scores with a column for each class, it may be the number
// or the name of a class: then the known answer has the score 1 for this class and 0 for all others, so that the metric
// top1 counts how often the version names the right class.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/golden_files/columns.h"
#include "serving-node/golden_files/options.h"

namespace longshore::golden_files {

struct Label {
  std::string output;
  Columns columns;
  int64_t classes = 0;  // The number of classes if the label is a class; 0: it is the value of the output.
};

// Finds the columns and the output of each label of the options. InvalidArgument if there is no such column or output,
// or if the output of a label is not named and the signature has several.
Result<std::vector<Label>> FindLabels(const CsvOptions& options, const CsvReader& csv,
                                      const tensorflow::SignatureDef& signature);

// Returns the known answer of a row. The message of an error names the column.
Result<engine::TensorMap> Answers(const std::vector<Label>& labels, const CsvOptions& options, const CsvReader& csv,
                                  const CsvRow& row);

}  // namespace longshore::golden_files
