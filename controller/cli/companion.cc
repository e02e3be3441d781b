#include "controller/cli/companion.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "common/base/path.h"

namespace longshore::cli {
namespace {

struct Companion {
  std::string_view verb;
  std::string_view program;
  bool with_verb;  // Whether the program gets the verb as its first argument.
};
constexpr std::array<Companion, 2> kCompanions = {{{"model", kModelProgram, false}, {"golden", kModelProgram, true}}};

// Returns "" if the path of this program is unknown.
Path FolderOfThisProgram() {
  std::error_code error;
  const Path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? Path() : self.parent_path();
}

// Replaces this process by the program; argv[0] is the first of the arguments. Returns only if the program could not be
// started.
Error Replace(const std::string& program, char** arguments) {
  const Path folder = FolderOfThisProgram();
  execv((folder / program).c_str(), arguments);
  if (errno == ENOENT) execvp(program.c_str(), arguments);
  if (errno != ENOENT) return {Code::kFailedPrecondition, fmt::format("{}: {}", program, std::strerror(errno))};
  return {Code::kNotFound,
          fmt::format("program {} was found neither in {} nor in the PATH; the image of the nodes contains it", program,
                      folder.string())};
}

}  // namespace

std::optional<Error> RunCompanion(int argc, char** argv) {
  if (argc < 2) return std::nullopt;
  const auto found = std::ranges::find(kCompanions, std::string_view(argv[1]), &Companion::verb);
  if (found == kCompanions.end()) return std::nullopt;
  return Replace(std::string(found->program), argv + (found->with_verb ? 0 : 1));
}

Error RunProgram(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return Replace(program, argv.data());
}

}  // namespace longshore::cli
