// Text tables for terminals.
#pragma once

#include <string>
#include <vector>

namespace longshore::cli::text {

// Columns are as wide as their widest cell and three spaces apart; lines have no trailing spaces. All rows, including
// the header, must have the same number of cells. A newline in a cell becomes a space.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}

  void Add(std::vector<std::string> row);
  bool empty() const { return rows_.size() == 1; }
  struct Form {
    size_t indent = 0;
    bool headers = true;
  };
  std::string Text(const Form& form) const;
  std::string Text(size_t indent = 0) const { return Text(Form{.indent = indent}); }

 private:
  std::vector<std::vector<std::string>> rows_;
};

// The number of characters that a terminal shows: each UTF-8 sequence counts as one.
size_t DisplayWidth(const std::string& text);

}  // namespace longshore::cli::text
