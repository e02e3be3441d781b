#include "controller/cli/doctor/observe/processes.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "common/os/file.h"

namespace longshore::cli::doctor::observe {
namespace {

constexpr size_t kProcBytesMax = size_t{64} << 20;
constexpr const char* kListening = "0A";  // Linux's state TCP_LISTEN.

using Inodes = std::map<std::string, int>;  // From the inode of a listening socket to its port.

// Reads a table of sockets: "sl local_address rem_address st ... inode ...".
void AddListening(const Path& table, const std::set<int>& ports, Inodes& inodes) {
  std::istringstream lines(ReadFileOrPipe(table, kProcBytesMax).value_or(""));
  std::string line;
  std::getline(lines, line);  // The headers.
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::vector<std::string> fields;
    for (std::string word; words >> word && fields.size() < 10;) fields.push_back(word);
    if (fields.size() < 10 || fields[3] != kListening) continue;
    const int port = static_cast<int>(std::strtol(fields[1].substr(fields[1].rfind(':') + 1).c_str(), nullptr, 16));
    if (ports.contains(port)) inodes[fields[9]] = port;
  }
}

std::string ProgramOf(const Path& process) {
  std::error_code error;
  const Path program = std::filesystem::read_symlink(process / "exe", error);
  return error ? "a program" : program.filename().string();
}

// Adds the process to the holders of the ports whose sockets it has open.
void AddHolder(const Path& process, const Inodes& inodes, std::map<int, std::set<Holder>>& listeners) {
  std::error_code error;
  for (const auto& descriptor : std::filesystem::directory_iterator(process / "fd", error)) {
    std::error_code unreadable;
    const std::string target = std::filesystem::read_symlink(descriptor.path(), unreadable).string();
    if (!target.starts_with("socket:[")) continue;
    const auto found = inodes.find(target.substr(8, target.size() - 9));
    if (found == inodes.end()) continue;
    listeners[found->second].insert({std::atoll(process.filename().c_str()), ProgramOf(process)});
  }
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

std::map<int, std::set<Holder>> ListenersOn(const std::set<int>& ports) {
  Inodes inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) AddListening(table, ports, inodes);
  std::map<int, std::set<Holder>> listeners;
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = process.path().filename();
    if (std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; }))
      AddHolder(process.path(), inodes, listeners);
  }
  for (const auto& [inode, port] : inodes) {
    if (!listeners.contains(port)) listeners[port].insert(Holder{});
  }
  return listeners;
}

}  // namespace longshore::cli::doctor::observe
