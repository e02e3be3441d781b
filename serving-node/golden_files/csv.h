// Reads CSV files as RFC 4180 describes them, and as spreadsheets, Python and pandas write them.
//
// Lines end with LF, CRLF or CR. A field in quotes may hold the separator, ends of lines, and quotes, which are
// doubled. A byte order mark of UTF-8 in front, and empty lines, are skipped. The first row names the columns.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace longshore::golden_files {

struct CsvRow {
  size_t line = 0;  // Where the row begins, from 1.
  std::vector<std::string> fields;
};

// Not thread-safe. The text must outlive the reader.
class CsvReader {
 public:
  // Reads the header. InvalidArgument if there is none, a column is named twice, or the text is UTF-16.
  static Result<CsvReader> Open(std::string_view text, char separator);

  const std::vector<std::string>& header() const { return header_; }
  // Returns the position of the column; nullopt if there is no such column.
  std::optional<size_t> Column(const std::string& name) const;

  // Returns nullopt at the end. InvalidArgument, which names the line, for a row with another number of fields than the
  // header, a quoted field without an end, or a quote elsewhere.
  Result<std::optional<CsvRow>> Next();

 private:
  CsvReader(std::string_view text, char separator) : text_(text), separator_(separator) {}
  Status ReadHeader();
  Result<std::optional<CsvRow>> Row();
  Result<std::string> Field();
  Result<std::string> QuotedField();
  bool AtEndOfLine() const;
  void SkipEndOfLine();

  std::string_view text_;
  char separator_;
  size_t at_ = 0;
  size_t line_ = 1;
  std::vector<std::string> header_;
  std::map<std::string, size_t> columns_;
};

}  // namespace longshore::golden_files
