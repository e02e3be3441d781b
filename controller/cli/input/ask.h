// A question that a person answers on the terminal.
#pragma once

#include <istream>
#include <ostream>
#include <string>

#include "common/base/lower_case.h"

namespace longshore::cli::input {

// Prints the question and reads a line. Only "y" and "yes", in capital letters or not, mean yes.
inline bool AskYes(const std::string& question, std::istream& in, std::ostream& out) {
  out << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(in, answer);
  answer = LowerCase(answer);
  return answer == "y" || answer == "yes";
}

}  // namespace longshore::cli::input
