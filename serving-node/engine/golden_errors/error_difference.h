// For tests: compares an error with TensorFlow's error in a golden case.
//
// The codes must be equal, and the messages must share a subject: a word, number or shape that says what the error is
// about. tests/golden/engine/error_subjects.json lists the differences that are justified, each with its reason.
#pragma once

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/json/json.h"

namespace longshore::engine::golden_errors {

// Returns what a message is about: its words, numbers and shapes. Leaves out the numbers from 0 to 3, which are in too
// many messages.
std::set<std::string> SubjectsOf(std::string text);

// Whether two messages, without the names of the op and the node, are equal or share a subject.
bool ShareASubject(const std::string& theirs, const std::string& ours);

// A justified difference. The patterns are searched in the messages; the op's pattern matches its whole name.
struct ErrorRow {
  std::regex op, tensorflow, ours;
  std::string code;  // The code of this engine's error; "" if it must be TensorFlow's code.
  std::string text;  // The row as JSON, for messages of the tests.
  bool is_used = false;
};

// The rows of tests/golden/engine/error_subjects.json.
class ErrorRows {
 public:
  ErrorRows();
  explicit ErrorRows(const Path& file);
  explicit ErrorRows(const Json& rows);

  // Returns how `given` differs from the error of a golden case; "" if it does not, or if a row justifies the
  // difference.
  std::string Difference(const Json& json, const Error& given);

  // Returns the text of each row that has not justified a difference.
  std::vector<std::string> Unused() const;

 private:
  void Add(const Json& row);

  std::vector<ErrorRow> rows_;
};

}  // namespace longshore::engine::golden_errors
