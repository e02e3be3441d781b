// Text that a command is given: a file, or standard input.
#pragma once

#include <iostream>
#include <iterator>
#include <string>

#include "common/file.h"

namespace longshore::cli {

// "-" is standard input.
inline Result<std::string> ReadInput(const std::string& file) {
  if (file == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  return ReadFile(file);
}

}  // namespace longshore::cli
