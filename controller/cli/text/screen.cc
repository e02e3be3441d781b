#include "controller/cli/text/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/cli/text/color.h"
#include "controller/cli/text/table.h"

namespace longshore::cli::text {
namespace {

constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kEraseLine = "\x1b[K";
constexpr std::string_view kEraseBelow = "\x1b[J";
constexpr std::string_view kBlock = "█";

std::vector<std::string> LinesOf(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The number of bytes of the character, or of the escape sequence of a colour, at this position.
size_t BytesAt(std::string_view line, size_t at) {
  if (line[at] == '\x1b') return std::min(line.find('m', at), line.size() - 1) + 1 - at;
  size_t end = at + 1;
  while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) ++end;
  return end - at;
}

// Cuts the line to so many characters, the last of which is then "…".
std::string Cut(const std::string& line, size_t columns) {
  std::string cut;
  std::string last;  // The character that the mark would replace.
  size_t width = 0;
  for (size_t at = 0; at < line.size();) {
    const size_t bytes = BytesAt(line, at);
    const std::string piece = line.substr(at, bytes);
    at += bytes;
    if (piece[0] == '\x1b') {
      last += piece;
    } else if (++width > columns) {
      return cut + "…" + std::string(kPlain);
    } else {
      cut += std::exchange(last, piece);
    }
  }
  return cut + last;
}

// Rows of tables have gaps, and bars have no words.
bool IsSentence(const std::string& line, size_t first) {
  return line.find("   ", first) == std::string::npos && line.find("──") == std::string::npos;
}

std::string ColoredLine(const std::string& line) {
  if (line.empty()) return line;
  if (line.starts_with("✓") || line.starts_with("✗")) return Painted(line, line.starts_with("✓") ? kGreen : kRed);
  if (line[0] != ' ') return Painted(line, kBold);
  const size_t first = line.find_first_not_of(' ');
  const size_t bar = line.find(kBlock);
  if (bar != std::string::npos)
    return line.substr(0, bar) + Painted(line.substr(bar), line.find(" stable ") < bar ? kGreen : kCyan);
  for (const auto& [word, color] : {std::pair("Fail (", kRed), {"Pass (", kGreen}}) {
    if (line.compare(first, std::string_view(word).size(), word) == 0) return Painted(line, color);
  }
  const bool is_header = line.size() > first + 1 && std::isupper(static_cast<unsigned char>(line[first])) != 0 &&
                         std::isupper(static_cast<unsigned char>(line[first + 1])) != 0;
  return is_header ? Painted(line, kDim) : Colored(line);
}

}  // namespace

std::string Frame(const std::string& text, const ScreenSize& size) {
  std::vector<std::string> lines = LinesOf(text);
  const size_t room = std::max<size_t>(size.rows, 2) - 1;  // The cursor is in the last row.
  if (lines.size() > room) {
    const size_t hidden = lines.size() - room + 1;
    lines.resize(room - 1);
    lines.push_back(fmt::format("  … {} more lines: make the window higher", hidden));
  }
  std::string frame(kHome);
  for (const std::string& line : lines) frame.append(Cut(line, size.columns)).append(kEraseLine).append("\n");
  return frame.append(kEraseBelow);
}

std::string Wrapped(const std::string& text, size_t columns) {
  std::string wrapped;
  for (const std::string& line : LinesOf(text)) {
    const size_t first = std::min(line.find_first_not_of(' '), line.size());
    if (!IsSentence(line, first) || DisplayWidth(line) <= columns) {
      wrapped += line + "\n";
      continue;
    }
    const std::string indent(first, ' ');
    std::istringstream words(line);
    std::string row = indent;
    for (std::string word; words >> word;) {
      const bool is_first = row.size() == first;
      if (!is_first && DisplayWidth(row) + 1 + DisplayWidth(word) > columns) {
        wrapped += row + "\n";
        row = indent + word;
      } else {
        row += (is_first ? "" : " ") + word;
      }
    }
    wrapped += row + "\n";
  }
  return wrapped;
}

std::string ColoredRollout(const std::string& view) {
  std::string colored;
  for (const std::string& line : LinesOf(view)) colored += ColoredLine(line) + "\n";
  return colored;
}

std::string WithAsciiMarks(std::string view) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kMarks = {{{"█", "#"},
                                                                                     {"━", "="},
                                                                                     {"─", "-"},
                                                                                     {"┃", "|"},
                                                                                     {"◀", "<"},
                                                                                     {"▶", ">"},
                                                                                     {"✓", "+"},
                                                                                     {"✗", "x"},
                                                                                     {"●", "*"},
                                                                                     {"◌", "o"},
                                                                                     {"·", "."},
                                                                                     {"…", "~"}}};
  for (const auto& [mark, ascii] : kMarks) {
    for (size_t at = view.find(mark); at != std::string::npos; at = view.find(mark, at + 1))
      view.replace(at, mark.size(), ascii);
  }
  return view;
}

}  // namespace longshore::cli::text
