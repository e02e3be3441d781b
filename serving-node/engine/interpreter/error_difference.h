// For tests: compares an error with TensorFlow's error in a golden case.
//
// The codes must be equal, and the messages must share a subject: a word, number or shape that says what the error is
// about. tests/golden/engine/error_subjects.json lists the differences that are justified, each with its reason.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/json.h"
#include "common/os/json_file.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::engine::interpreter {

// Words that occur in errors about anything.
inline const std::set<std::string, std::less<>>& CommonWords() {
  static const std::set<std::string, std::less<>> words = {
      "all",     "an",      "and",         "any",      "are",          "as",       "at",       "be",     "been",
      "between", "but",     "by",          "can",      "cannot",       "did",      "do",       "does",   "dt",
      "each",    "element", "else",        "equal",    "error",        "expect",   "expected", "failed", "fails",
      "first",   "for",     "found",       "from",     "get",          "given",    "gives",    "got",    "greater",
      "has",     "have",    "if",          "in",       "incompatible", "input",    "instead",  "into",   "invalid",
      "is",      "it",      "its",         "larger",   "least",        "less",     "many",     "match",  "may",
      "more",    "most",    "must",        "need",     "needs",        "no",       "node",     "none",   "not",
      "number",  "of",      "on",          "one",      "only",         "op",       "operator", "or",     "other",
      "out",     "output",  "over",        "received", "required",     "requires", "same",     "saw",    "shape",
      "should",  "size",    "so",          "support",  "supported",    "tensor",   "than",     "that",   "the",
      "their",   "them",    "then",        "there",    "they",         "this",     "to",       "too",    "trying",
      "type",    "unknown", "unsupported", "up",       "use",          "used",     "valid",    "value",  "vs",
      "was",     "when",    "which",       "who",      "will",         "with",     "you",      "your"};
  return words;
}

// The subject that a word stands for; "" for a common word and for letters that are not names of inputs. Plurals and
// the words for a dimension are one subject.
inline std::string SubjectOf(std::string word) {
  static const std::set<std::string, std::less<>> dimensions = {
      "axes", "axis", "dim", "dimension", "dimensional", "dims", "dimensions", "rank", "ranks"};
  if (dimensions.contains(word)) return "rank";
  if (CommonWords().contains(word)) return "";
  if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
  const bool is_name = word.size() > 1 || std::string_view("bkwxy").find(word) != std::string_view::npos;
  return is_name && !CommonWords().contains(word) ? word : "";
}

// The words of a text, without common ones. Names are split: "segment_ids" and "segmentIds" have two words.
inline std::set<std::string> WordsOf(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  const auto finish = [&] {
    words.insert(SubjectOf(std::move(word)));
    word.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const auto letter = static_cast<unsigned char>(text[i]);
    if (i > 0 && std::isupper(letter) != 0 && std::isupper(static_cast<unsigned char>(text[i - 1])) == 0) finish();
    if (std::isalpha(letter) == 0) {
      finish();
    } else {
      word += static_cast<char>(std::tolower(letter));
    }
  }
  finish();
  words.erase("");
  return words;
}

inline void AddMatches(const std::string& text, const std::regex& pattern, std::set<std::string>* all) {
  for (auto at = std::sregex_iterator(text.begin(), text.end(), pattern); at != std::sregex_iterator(); ++at) {
    all->insert(at->str());
  }
}

// What a message is about: its words, numbers and shapes. The numbers from 0 to 3 are in too many messages.
inline std::set<std::string> SubjectsOf(std::string text) {
  static const std::regex shape(R"(\[(-?\d+(,-?\d+)*)?\])"), number(R"(-?\b\d+(\.\d+)?\b)");
  std::set<std::string> subjects = WordsOf(text);
  AddMatches(text, number, &subjects);
  for (const char* common : {"0", "1", "2", "3"}) subjects.erase(common);
  text = std::regex_replace(text, std::regex(R"(, )"), ",");
  text = std::regex_replace(text, std::regex(R"(\((-?\d+(,-?\d+)*,?)\))"), "[$1]");
  AddMatches(text, shape, &subjects);
  return subjects;
}

// Removes the names of the op and the node, with which every message of this engine begins.
inline std::string WithoutPlace(std::string message) {
  static const std::regex place(R"re(op "[^"]*" \(node "[^"]*"\): |unsupported ops: "[^"]*":? ?| \(node "[^"]*"\))re");
  return std::regex_replace(message, place, "");
}

inline bool ShareASubject(const std::string& theirs, const std::string& ours) {
  if (WithoutPlace(ours) == theirs) return true;
  const auto wanted = SubjectsOf(theirs);
  return std::ranges::any_of(SubjectsOf(WithoutPlace(ours)),
                             [&](const auto& subject) { return wanted.contains(subject); });
}

// A justified difference. The patterns are searched in the messages; the op's pattern matches its whole name.
struct ErrorRow {
  std::regex op, tensorflow, ours;
  std::string code;  // Ours; "" if it must be TensorFlow's.
  std::string text;  // For messages of the tests.
  bool is_used = false;
};

// The rows of tests/golden/engine/error_subjects.json.
class ErrorRows {
 public:
  ErrorRows() : ErrorRows(source_tree::Root() / "tests" / "golden" / "engine" / "error_subjects.json") {}
  explicit ErrorRows(const Path& file) {
    const auto json = ReadJsonFile(file);
    if (!json || !*json) ADD_FAILURE() << "no table of errors in " << file;
    if (json && *json) Take(**json);
  }
  explicit ErrorRows(const Json& rows) { Take(rows); }

  void Add(const Json& row) {
    EXPECT_NE(row.value("reason", ""), "") << row;
    rows_.push_back({.op = std::regex(row.at("op").get<std::string>()),
                     .tensorflow = std::regex(row.at("tensorflow").get<std::string>()),
                     .ours = std::regex(row.at("ours").get<std::string>()),
                     .code = row.value("code", ""),
                     .text = row.dump()});
  }

  // How `given` differs from the error of a golden case; "" if it does not, or if a row justifies the difference.
  std::string Difference(const Json& json, const Error& given) {
    const auto code = json.at("code").get<std::string>(), message = json.at("error").get<std::string>();
    const bool is_same_code = CodeName(given.code) == code;
    if (is_same_code && given.code != Code::kUnimplemented && ShareASubject(message, given.message)) return "";
    for (auto& row : rows_) {
      if (CodeName(given.code) != (row.code.empty() ? code : row.code)) continue;
      if (!std::regex_match(json.at("op").get<std::string>(), row.op) || !std::regex_search(message, row.tensorflow) ||
          !std::regex_search(given.message, row.ours))
        continue;
      row.is_used = true;
      return "";
    }
    return fmt::format("{} instead of {}: {}", ToString(given), code, message);
  }

  std::vector<std::string> Unused() const {
    std::vector<std::string> unused;
    for (const auto& row : rows_) {
      if (!row.is_used) unused.push_back(row.text);
    }
    return unused;
  }

 private:
  void Take(const Json& rows) {
    for (const auto& row : rows) Add(row);
  }

  std::vector<ErrorRow> rows_;
};

}  // namespace longshore::engine::interpreter
