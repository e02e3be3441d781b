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

std::optional<std::string> NearestWord(std::string_view word, const std::vector<std::string>& known) {
  const auto distance = [&](const std::string& other) { return EditDistance(word, other); };
  const auto best = std::ranges::min_element(known, {}, distance);
  if (best == known.end() || distance(*best) > std::max<size_t>(1, word.size() / 3)) return std::nullopt;
  return *best;
}

}  // namespace longshore
