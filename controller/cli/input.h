// Reads the input of a command: a file or standard input.
#pragma once

#include <iostream>
#include <iterator>
#include <string>

#include "common/os/file.h"

namespace longshore::cli {

// Reads the whole file, or standard input if `file` is "-".
inline Result<std::string> ReadInput(const std::string& file) {
  if (file == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  return ReadFile(file);
}

}  // namespace longshore::cli
