#include "controller/cli/companion.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "common/file.h"

namespace longshore::cli {
namespace {

struct Companion {
  std::string_view verb;
  std::string_view program;
};
constexpr std::array<Companion, 1> kCompanions = {{{"model", "longshore-model"}}};

// "" when the system does not say where this program lies.
Path FolderOfThisProgram() {
  std::error_code error;
  const Path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? Path() : self.parent_path();
}

// The first of the arguments becomes the program's name of itself. Returns only when nothing could be started.
Error Replace(const std::string& program, char** arguments) {
  const Path folder = FolderOfThisProgram();
  execv((folder / program).c_str(), arguments);
  if (errno == ENOENT) execvp(program.c_str(), arguments);
  if (errno != ENOENT) return {Code::kFailedPrecondition, fmt::format("{}: {}", program, std::strerror(errno))};
  return {Code::kNotFound, fmt::format("there is no program {} in {} or in the PATH; the node's image has it", program,
                                       folder.string())};
}

}  // namespace

std::optional<Error> RunCompanion(int argc, char** argv) {
  if (argc < 2) return std::nullopt;
  const auto found = std::ranges::find(kCompanions, std::string_view(argv[1]), &Companion::verb);
  if (found == kCompanions.end()) return std::nullopt;
  return Replace(std::string(found->program), argv + 1);
}

}  // namespace longshore::cli
