// Text in columns, for terminals.
#pragma once

#include <string>
#include <vector>

namespace longshore::cli {

// Columns as wide as their widest cell, three spaces apart, no space at the end of a line. Every row, the header too,
// must have the same number of cells. A newline in a cell becomes a space.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}

  void Add(std::vector<std::string> row);
  bool empty() const { return rows_.size() == 1; }
  std::string Text(size_t indent = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Characters that a terminal shows: UTF-8 sequences count once.
size_t DisplayWidth(const std::string& text);

}  // namespace longshore::cli
