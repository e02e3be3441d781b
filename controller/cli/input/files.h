// The files that a command line names with -f or as arguments.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace longshore::cli::input {

inline constexpr size_t kInputBytesMax = size_t{64} << 20;  // The limit for one file.
inline constexpr size_t kFilesMax = 10'000;
inline constexpr const char* kStandardInput = "-";

struct File {
  std::string name;  // For messages: the path, or "standard input".
  std::string text;
};

// Reads a file, a pipe such as bash's <(COMMAND), or standard input if `name` is "-".
Result<File> ReadInput(const std::string& name, std::istream& standard_input);

enum class Folders { kFilesOnly, kWithSubfolders };

// Reads the files, and those files of the named folders that end with .yaml, .yml or .json, in the order of their
// names. Skips files and subfolders of folders if their names begin with a dot, for example the controller's own folder
// in a directory of manifests. Returns InvalidArgument if a folder has no such file, or if standard input is named
// twice.
Result<std::vector<File>> ReadFiles(const std::vector<std::string>& names, Folders folders,
                                    std::istream& standard_input);

}  // namespace longshore::cli::input
