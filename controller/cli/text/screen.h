// Shows a changing text in place on a terminal. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace longshore::cli::text {

struct ScreenSize {
  size_t columns = 80;
  size_t rows = 24;
};

// Returns the bytes that replace what the terminal shows by the text. Overwrites line by line instead of erasing the
// screen first, so nothing flickers. Cuts lines that are too long, and lines that do not fit, and says how many.
std::string Frame(const std::string& text, const ScreenSize& size);

// Breaks sentences between words into lines of at most so many characters. Leaves rows of tables and bars as they are.
std::string Wrapped(const std::string& text, size_t columns);

// Colours the view of a rollout (rollout.h).
std::string ColoredRollout(const std::string& view);

// Replaces the marks and the pieces of bars by ASCII characters, for terminals without UTF-8.
std::string WithAsciiMarks(std::string view);

}  // namespace longshore::cli::text
