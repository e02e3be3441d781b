#include "controller/cli/doctor/observe/processes.h"

#include <filesystem>
#include <sstream>

#include "common/os/file.h"
#include "common/os/process/port_holder.h"

namespace longshore::cli::doctor::observe {
namespace {

constexpr size_t kProcBytesMax = size_t{64} << 20;

std::string ProgramOf(const Path& process) {
  std::error_code error;
  const Path program = std::filesystem::read_symlink(process / "exe", error);
  return error ? "a program" : program.filename().string();
}

}  // namespace

ProgramFlags ParseFlags(const std::vector<std::string>& arguments) {
  ProgramFlags flags;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with("--")) continue;
    const size_t equal = arguments[i].find('=');
    const bool has_next = i + 1 < arguments.size() && !arguments[i + 1].starts_with("--");
    if (equal != std::string::npos) {
      flags.emplace(arguments[i].substr(2, equal - 2), arguments[i].substr(equal + 1));
    } else {
      flags.emplace(arguments[i].substr(2), has_next ? arguments[i + 1] : "");
    }
  }
  return flags;
}

ProgramFlags FlagsOf(int64_t pid) {
  const std::string text = ReadFileOrPipe(fmt::format("/proc/{}/cmdline", pid), kProcBytesMax).value_or("");
  std::istringstream words(text);
  std::vector<std::string> arguments;
  for (std::string word; std::getline(words, word, '\0');) arguments.push_back(word);
  return ParseFlags(arguments);
}

std::string FlagOf(const ProgramFlags& flags, const std::string& name, const std::string& otherwise) {
  const auto [begin, end] = flags.equal_range(name);
  return begin == end ? otherwise : std::prev(end)->second;
}

std::map<int, std::set<Holder>> HoldersOf(const std::set<int>& ports) {
  std::map<int, std::set<Holder>> holders;
  for (const auto& [port, pids] : process::ListenersOn(ports)) {
    for (const pid_t pid : pids)
      holders[port].insert(pid == 0 ? Holder{} : Holder{pid, ProgramOf(fmt::format("/proc/{}", pid))});
  }
  return holders;
}

}  // namespace longshore::cli::doctor::observe
