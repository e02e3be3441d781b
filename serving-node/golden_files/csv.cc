#include "serving-node/golden_files/csv.h"

namespace longshore::golden_files {

Result<CsvReader> CsvReader::Open(std::string_view text, char separator) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return InvalidArgument("it is UTF-16: save it as UTF-8");
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  CsvReader reader(text, separator);
  RETURN_IF_ERROR(reader.ReadHeader());
  return reader;
}

Status CsvReader::ReadHeader() {
  ASSIGN_OR_RETURN(const std::optional<CsvRow> row, Row());
  if (!row) return InvalidArgument("it is empty: its first row must name the columns");
  header_ = row->fields;
  for (size_t i = 0; i < header_.size(); ++i) {
    if (!columns_.emplace(header_[i], i).second)
      return InvalidArgument("line {}: two columns have the name \"{}\"", row->line, header_[i]);
  }
  return {};
}

std::optional<size_t> CsvReader::Column(const std::string& name) const {
  const auto found = columns_.find(name);
  return found == columns_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::optional<CsvRow>> CsvReader::Next() {
  ASSIGN_OR_RETURN(std::optional<CsvRow> row, Row());
  if (row && row->fields.size() != header_.size())
    return InvalidArgument("line {}: the row has {} fields, but the header has {}", row->line, row->fields.size(),
                           header_.size());
  return row;
}

Result<std::optional<CsvRow>> CsvReader::Row() {
  while (at_ < text_.size() && AtEndOfLine()) SkipEndOfLine();
  if (at_ == text_.size()) return std::nullopt;
  CsvRow row{.line = line_, .fields = {}};
  while (true) {
    ASSIGN_OR_RETURN(row.fields.emplace_back(), Field());
    if (AtEndOfLine()) break;
    ++at_;  // The separator.
  }
  SkipEndOfLine();
  return row;
}

// Leaves at_ on the separator or at the end of the line.
Result<std::string> CsvReader::Field() {
  if (at_ < text_.size() && text_[at_] == '"') return QuotedField();
  const size_t begin = at_;
  while (!AtEndOfLine() && text_[at_] != separator_) {
    if (text_[at_] == '"')
      return InvalidArgument(
          "line {}: a quote within a field that does not begin with one: write the field as "
          "\"...\", and each quote in it twice",
          line_);
    ++at_;
  }
  return std::string(text_.substr(begin, at_ - begin));
}

Result<std::string> CsvReader::QuotedField() {
  const size_t began = line_;
  std::string field;
  for (++at_; at_ < text_.size(); ++at_) {
    const bool is_quote = text_[at_] == '"';
    const bool is_doubled = is_quote && text_.substr(at_ + 1).starts_with('"');
    if (is_quote && !is_doubled) break;
    const bool ends_line = text_[at_] == '\n' || (text_[at_] == '\r' && !text_.substr(at_ + 1).starts_with('\n'));
    if (ends_line) ++line_;
    field += text_[at_];
    if (is_doubled) ++at_;
  }
  if (at_ == text_.size()) return InvalidArgument("line {}: the quoted field that begins here has no end", began);
  ++at_;
  if (!AtEndOfLine() && text_[at_] != separator_)
    return InvalidArgument("line {}: text follows the quote that ends a field", line_);
  return field;
}

bool CsvReader::AtEndOfLine() const { return at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '\r'; }

void CsvReader::SkipEndOfLine() {
  if (at_ == text_.size()) return;
  at_ += text_.substr(at_).starts_with("\r\n") ? 2 : 1;
  ++line_;
}

}  // namespace longshore::golden_files
