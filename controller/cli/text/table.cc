#include "controller/cli/text/table.h"

#include <algorithm>

#include "common/base/error.h"

namespace longshore::cli::text {

size_t DisplayWidth(const std::string& text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

void Table::Add(std::vector<std::string> row) {
  CHECK(row.size() == rows_[0].size());
  for (std::string& cell : row) std::replace(cell.begin(), cell.end(), '\n', ' ');
  rows_.push_back(std::move(row));
}

std::string Table::Text(const Form& form) const {
  const auto first = form.headers ? rows_.begin() : rows_.begin() + 1;
  std::vector<size_t> widths(rows_[0].size(), 0);
  for (auto row_at = first; row_at != rows_.end(); ++row_at) {
    const std::vector<std::string>& row = *row_at;
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string text;
  for (auto row_at = first; row_at != rows_.end(); ++row_at) {
    const std::vector<std::string>& row = *row_at;
    std::string line(form.indent, ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - DisplayWidth(row[i]) + 3, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace longshore::cli::text
