// Reads the input as a CSV file. The rows, written with all fields in quotes, must read back equal.
#include <string>
#include <vector>

#include "serving-node/golden_files/csv.h"
#include "tests/fuzz/fuzz.h"

// A field of no bytes becomes a std::string of 32 bytes, in vectors that double their size, and the file is read twice.
const longshore::fuzz::Allowance longshore::fuzz::kAllowance = {.per_byte = 512, .fixed_bytes = size_t{64} << 10};

namespace {

using longshore::golden_files::CsvReader;

// The header and the rows before the first mistake.
std::vector<std::vector<std::string>> RowsOf(std::string_view text) {
  auto csv = CsvReader::Open(text, ',');
  if (!csv) return {};
  std::vector<std::vector<std::string>> rows = {csv->header()};
  while (true) {
    auto row = csv->Next();
    if (!row || !*row) return rows;
    CHECK((*row)->fields.size() == rows.front().size());
    rows.push_back(std::move((*row)->fields));
  }
}

std::string Written(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? "\"" : ",\"";
      for (const char c : row[i]) text += c == '"' ? "\"\"" : std::string(1, c);
      text += '"';
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto rows = RowsOf(longshore::fuzz::View(data, size));
  CHECK(RowsOf(Written(rows)) == rows);
  return 0;
}
