#include "common/os/process/port_holder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace longshore::process {
namespace {

constexpr const char* kListening = "0A";

// Adds the links by which the descriptors of a listening socket can be found, such as "socket:[81234]". A line of
// /proc/net/tcp has the number, the local and the remote address, and the state; the tenth word is the inode.
void AddSockets(const char* table, int port, std::set<std::string>& links) {
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);  // The names of the columns.
  const std::string wanted = fmt::format(":{:04X}", port);
  while (std::getline(file, line)) {
    std::istringstream text(line);
    std::vector<std::string> words(10);
    for (std::string& word : words) text >> word;
    if (words[1].ends_with(wanted) && words[3] == kListening) links.insert("socket:[" + words[9] + "]");
  }
}

bool HasOneOf(const std::filesystem::path& process, const std::set<std::string>& links) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(process / "fd", error), end; !error && at != end; at.increment(error)) {
    std::error_code unreadable;
    if (links.contains(std::filesystem::read_symlink(at->path(), unreadable).string())) return true;
  }
  return false;
}

std::vector<std::string> ArgumentsOf(const std::filesystem::path& process) {
  std::ifstream file(process / "cmdline");
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

std::string TextOf(const std::filesystem::path& process, pid_t pid) {
  const std::vector<std::string> arguments = ArgumentsOf(process);
  if (arguments.empty()) return fmt::format("process {}", pid);
  std::string node;
  std::string fleet;
  for (const std::string& argument : arguments) {
    if (argument.starts_with("--node=")) node = argument.substr(7);
    if (argument.starts_with("--fleet=")) fleet = argument.substr(8);
  }
  const std::string program = std::filesystem::path(arguments[0]).filename();
  if (node.empty() || fleet.empty()) return fmt::format("{} (process {})", program, pid);
  return fmt::format("node {} of fleet {} (process {})", node, fleet, pid);
}

}  // namespace

PortHolder HolderOf(int port) {
  std::set<std::string> links;
  AddSockets("/proc/net/tcp", port, links);
  AddSockets("/proc/net/tcp6", port, links);
  if (links.empty()) return {};
  std::error_code error;
  // The own process first: it may share the socket with the processes that it has started.
  if (HasOneOf("/proc/self", links)) return {getpid(), "this process"};
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
    if (HasOneOf(at->path(), links)) return {pid, TextOf(at->path(), pid)};
  }
  return {};
}

}  // namespace longshore::process
