#include "serving-node/golden_files/csv.h"

#include <gmock/gmock.h>

namespace longshore::golden_files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// All rows; a row that cannot be read is its message.
std::vector<std::vector<std::string>> RowsOf(std::string_view text, char separator = ',') {
  std::vector<std::vector<std::string>> rows;
  auto csv = CsvReader::Open(text, separator);
  if (!csv) return {{csv.error().message}};
  rows.push_back(csv->header());
  while (true) {
    auto row = csv->Next();
    if (!row) rows.push_back({row.error().message});
    if (!row || !*row) return rows;
    rows.push_back((*row)->fields);
  }
}

TEST(Csv, ReadsQuotedFieldsWithSeparatorsQuotesAndEndsOfLines) {
  EXPECT_THAT(RowsOf("a,b\r\n\"1,2\",\"say \"\"hi\"\"\nnow\"\r\n,\"\"\r\n"),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("1,2", "say \"hi\"\nnow"), ElementsAre("", "")));
}

TEST(Csv, SkipsAByteOrderMarkAndEmptyLinesAndNeedsNoLastEndOfLine) {
  EXPECT_THAT(RowsOf("\xEF\xBB\xBF"
                     "a;b\n\n1;2\n\n3;4",
                     ';'),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("1", "2"), ElementsAre("3", "4")));
}

TEST(Csv, KeepsAnEmptyFieldAtTheEndOfTheFile) {
  EXPECT_THAT(RowsOf("a,b\n1,"), ElementsAre(ElementsAre("a", "b"), ElementsAre("1", "")));
}

TEST(Csv, CountsLinesWithinFields) {
  auto csv = CsvReader::Open("a\n\"1\n2\r\n3\"\r4\n", ',');
  EXPECT_EQ((*csv->Next())->line, 2U);
  EXPECT_EQ((*csv->Next())->line, 5U);
}

TEST(Csv, NamesTheLineOfAMistake) {
  EXPECT_THAT(RowsOf("a,b\n1,2\n3\n").back().front(), HasSubstr("line 3: the row has 1 fields, but the header has 2"));
  EXPECT_THAT(RowsOf("a\n1\n\"2\n3\n").back().front(),
              HasSubstr("line 3: the quoted field that begins here has no end"));
  EXPECT_THAT(RowsOf("a\n5\" disk\n").back().front(), HasSubstr("line 2: a quote within a field"));
  EXPECT_THAT(RowsOf("a\n\"5\"x\n").back().front(), HasSubstr("line 2: text follows the quote"));
}

TEST(Csv, RefusesAHeaderThatCannotNameColumns) {
  EXPECT_THAT(RowsOf("\n\n").front().front(), HasSubstr("it is empty"));
  EXPECT_THAT(RowsOf("a,b,a\n").front().front(), HasSubstr("two columns have the name \"a\""));
  EXPECT_THAT(RowsOf(std::string_view("\xFF\xFE"
                                      "a\0",
                                      4))
                  .front()
                  .front(),
              HasSubstr("it is UTF-16"));
}

}  // namespace
}  // namespace longshore::golden_files
