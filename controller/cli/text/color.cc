#include "controller/cli/text/color.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace longshore::cli::text {
namespace {

constexpr std::string_view kGap = "   ";

struct Word {
  std::string_view text;
  std::string_view color;
};
constexpr std::array<Word, 12> kWords = {{{"True", kGreen},
                                          {"as wanted", kGreen},
                                          {"False", kRed},
                                          {"failed", kRed},
                                          {"Unknown", kYellow},
                                          {"under way", kYellow},
                                          {"✓ done", kGreen},
                                          {"● now", kYellow},
                                          {"✓ Ready", kGreen},
                                          {"✗ Failed", kRed},
                                          {"Promoted", kGreen},
                                          {"RolledBack", kRed}}};

// A cell states a condition if it is the word, or the word and a reason: "False (NoNodes)".
std::string_view ColorOf(std::string_view cell) {
  const auto* const found = std::ranges::find_if(kWords, [&](const Word& word) {
    return cell.starts_with(word.text) &&
           (cell.size() == word.text.size() || cell.substr(word.text.size()).starts_with(" ("));
  });
  return found == kWords.end() ? std::string_view() : found->color;
}

}  // namespace

std::string Painted(std::string_view text, std::string_view color) {
  return fmt::format("{}{}{}", color, text, kPlain);
}

std::string Colored(const std::string& text) {
  const std::string_view all = text;
  std::string colored;
  for (size_t begin = 0; begin < all.size();) {
    if (all[begin] == '\n' || all[begin] == ' ') {
      colored += all[begin++];
      continue;
    }
    const size_t end = std::min({all.find(kGap, begin), all.find('\n', begin), all.size()});
    const std::string_view cell = all.substr(begin, end - begin);
    const std::string_view color = ColorOf(cell);
    colored += color.empty() ? std::string(cell) : Painted(cell, color);
    begin = end;
  }
  return colored;
}

}  // namespace longshore::cli::text
