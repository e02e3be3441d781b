#include "serving-node/engine/golden_errors/error_difference.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <string_view>
#include <utility>

#include "common/os/json_file.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::engine::golden_errors {
namespace {

// Words that are common in errors on all subjects.
const std::set<std::string, std::less<>>& CommonWords() {
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

// Returns the subject that a word stands for; "" for a common word, and for letters that are not names of inputs. A
// plural has the subject of its singular, and all words for a dimension have one subject.
std::string SubjectOf(std::string word) {
  static const std::set<std::string, std::less<>> dimensions = {
      "axes", "axis", "dim", "dimension", "dimensional", "dims", "dimensions", "rank", "ranks"};
  if (dimensions.contains(word)) return "rank";
  if (CommonWords().contains(word)) return "";
  if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
  const bool is_name = word.size() > 1 || std::string_view("bkwxy").find(word) != std::string_view::npos;
  return is_name && !CommonWords().contains(word) ? word : "";
}

// Returns the words of a text, without common ones. Names are split: "segment_ids" and "segmentIds" have two words
// each.
std::set<std::string> WordsOf(std::string_view text) {
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

void AddMatches(const std::string& text, const std::regex& pattern, std::set<std::string>* all) {
  for (auto at = std::sregex_iterator(text.begin(), text.end(), pattern); at != std::sregex_iterator(); ++at) {
    all->insert(at->str());
  }
}

// Removes the names of the op and the node, with which every message of this engine begins.
std::string WithoutPlace(std::string message) {
  static const std::regex place(R"re(op "[^"]*" \(node "[^"]*"\): |unsupported ops: "[^"]*":? ?| \(node "[^"]*"\))re");
  return std::regex_replace(message, place, "");
}

}  // namespace

std::set<std::string> SubjectsOf(std::string text) {
  static const std::regex shape(R"(\[(-?\d+(,-?\d+)*)?\])"), number(R"(-?\b\d+(\.\d+)?\b)");
  static const std::regex separator(R"(, )"), tuple(R"(\((-?\d+(,-?\d+)*,?)\))");
  std::set<std::string> subjects = WordsOf(text);
  AddMatches(text, number, &subjects);
  for (const char* common : {"0", "1", "2", "3"}) subjects.erase(common);
  text = std::regex_replace(text, separator, ",");
  text = std::regex_replace(text, tuple, "[$1]");
  AddMatches(text, shape, &subjects);
  return subjects;
}

bool ShareASubject(const std::string& theirs, const std::string& ours) {
  if (WithoutPlace(ours) == theirs) return true;
  const auto wanted = SubjectsOf(theirs);
  return std::ranges::any_of(SubjectsOf(WithoutPlace(ours)),
                             [&](const auto& subject) { return wanted.contains(subject); });
}

ErrorRows::ErrorRows() : ErrorRows(source_tree::Root() / "tests" / "golden" / "engine" / "error_subjects.json") {}

ErrorRows::ErrorRows(const Path& file) {
  const auto json = ReadJsonFile(file);
  if (!json || !*json) ADD_FAILURE() << "no table of errors in " << file;
  if (json && *json) *this = ErrorRows(**json);
}

ErrorRows::ErrorRows(const Json& rows) {
  for (const auto& row : rows) Add(row);
}

void ErrorRows::Add(const Json& row) {
  EXPECT_NE(row.value("reason", ""), "") << row;
  rows_.push_back({.op = std::regex(row.at("op").get<std::string>()),
                   .tensorflow = std::regex(row.at("tensorflow").get<std::string>()),
                   .ours = std::regex(row.at("ours").get<std::string>()),
                   .code = row.value("code", ""),
                   .text = row.dump()});
}

std::string ErrorRows::Difference(const Json& json, const Error& given) {
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

std::vector<std::string> ErrorRows::Unused() const {
  std::vector<std::string> unused;
  for (const auto& row : rows_) {
    if (!row.is_used) unused.push_back(row.text);
  }
  return unused;
}

}  // namespace longshore::engine::golden_errors
