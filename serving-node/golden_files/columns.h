// Converts the cells of a CSV row to a tensor of a signature.
//
// A column "x" holds a number, a text, or a JSON list; or the columns "x[0]", "x[1]", ... hold the numbers of one row
// in C order. The row becomes a batch of one row: for a signature that states [-1,2], the cells 5 and 6 become [[5,6]].
#pragma once

#include <string>
#include <vector>

#include "common/base/error.h"
#include "serving-node/golden_files/csv.h"
#include "serving-node/tensor/tensor.h"
#include "tensorflow/saved_model.pb.h"

namespace longshore::golden_files {

inline constexpr size_t kCellShownBytesMax = 60;  // Of a cell in a message.

// The columns of one tensor.
struct Columns {
  std::string what;  // 'input "x"', for messages.
  tensorflow::TensorInfo info;
  std::vector<size_t> positions;  // In the row.
  bool is_list = false;           // Each cell is an element, also if there is only one column.
};

// Finds the columns of a tensor: those in `named`; otherwise the column `name`, or all of name[0], name[1], ... Returns
// NotFound if there are none; InvalidArgument if one of several is missing, or both forms are there.
Result<Columns> FindColumns(const CsvReader& csv, const std::string& name, const std::vector<std::string>& named);

// Returns the tensor of a row. The message of an error names the column and the cell.
Result<tensor::Tensor> TensorOf(const Columns& columns, const CsvReader& csv, const CsvRow& row);

// Returns a value that the signature states as `pattern`: the same elements in a shape that matches the pattern, with
// one row if its first dimension is open or the rank is unknown. InvalidArgument if there is none.
Result<tensor::Tensor> AsRow(const tensor::Tensor& value, const tensorflow::TensorInfo& info);

}  // namespace longshore::golden_files
