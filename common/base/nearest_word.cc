#include "common/base/nearest_word.h"

#include <algorithm>
#include <numeric>

#include "common/base/lower_case.h"

namespace longshore {

size_t EditDistance(std::string_view a, std::string_view b) {
  // Three rows of the table whose entry [i][j] is the distance between the first i bytes of `a` and the first j of `b`.
  std::vector<size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  const auto equal = [&](size_t i, size_t j) { return LowerCase(a[i]) == LowerCase(b[j]); };
  for (size_t i = 0; i < a.size(); ++i) {
    next[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      next[j + 1] = std::min({row[j] + (equal(i, j) ? 0 : 1), next[j] + 1, row[j + 1] + 1});
      const bool is_swap = i > 0 && j > 0 && equal(i, j - 1) && equal(i - 1, j);
      if (is_swap) next[j + 1] = std::min(next[j + 1], before[j - 1] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row.back();
}

namespace {

// Splits at "_" and "-": "--rest_api_port" -> "rest", "api", "port".
std::vector<std::string> PartsOf(std::string_view word) {
  std::vector<std::string> parts(1);
  for (const char c : word) {
    if (c != '_' && c != '-') {
      parts.back() += LowerCase(c);
    } else if (!parts.back().empty()) {
      parts.emplace_back();
    }
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

bool HasParts(const std::vector<std::string>& parts, std::string_view word) {
  size_t found = 0;
  for (const std::string& part : PartsOf(word)) {
    if (found < parts.size() && part == parts[found]) ++found;
  }
  return found == parts.size();
}

std::optional<std::string> ShortestWithParts(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string> parts = PartsOf(word);
  if (parts.size() < 2) return std::nullopt;
  std::optional<std::string> shortest;
  for (const std::string& other : known) {
    if (HasParts(parts, other) && (!shortest || other.size() < shortest->size())) shortest = other;
  }
  return shortest;
}

size_t ChangesMax(std::string_view word) { return std::max<size_t>(1, word.size() / 3); }

// More changes than two must not be all in one part: "console_address" is not a mistyped "node_address".
bool IsNear(std::string_view word, std::string_view other, size_t distance) {
  if (distance > ChangesMax(word)) return false;
  const std::vector<std::string> parts = PartsOf(word), other_parts = PartsOf(other);
  if (distance <= 2 || parts.size() != other_parts.size()) return true;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (EditDistance(parts[i], other_parts[i]) > ChangesMax(parts[i])) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> NearestWord(std::string_view word, const std::vector<std::string>& known) {
  const std::string* nearest = nullptr;
  size_t distance_min = 0;
  for (const std::string& other : known) {
    const size_t distance = EditDistance(word, other);
    if (!IsNear(word, other, distance) || (nearest != nullptr && distance >= distance_min)) continue;
    nearest = &other;
    distance_min = distance;
  }
  return nearest != nullptr ? std::optional(*nearest) : ShortestWithParts(word, known);
}

}  // namespace longshore
