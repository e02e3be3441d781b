#include "common/os/process/port_holder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace longshore::process {
namespace {

constexpr const char* kListening = "0A";

// From the link by which the descriptors of a listening socket can be found, such as "socket:[81234]", to its port.
using Sockets = std::map<std::string, int>;

// A line of /proc/net/tcp has the number, the local and the remote address, and the state; the tenth word is the inode.
void AddSockets(const char* table, const std::set<int>& ports, Sockets& sockets) {
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);  // The names of the columns.
  while (std::getline(file, line)) {
    std::istringstream text(line);
    std::vector<std::string> words(10);
    for (std::string& word : words) text >> word;
    if (words[3] != kListening) continue;
    const std::string& local = words[1];
    int port = 0;
    std::from_chars(local.data() + local.rfind(':') + 1, local.data() + local.size(), port, 16);
    if (ports.contains(port)) sockets["socket:[" + words[9] + "]"] = port;
  }
}

void AddListener(const std::filesystem::path& process, pid_t pid, const Sockets& sockets,
                 std::map<int, std::set<pid_t>>& listeners) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(process / "fd", error), end; !error && at != end; at.increment(error)) {
    std::error_code unreadable;
    const auto found = sockets.find(std::filesystem::read_symlink(at->path(), unreadable).string());
    if (found != sockets.end()) listeners[found->second].insert(pid);
  }
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

std::map<int, std::set<pid_t>> ListenersOn(const std::set<int>& ports) {
  Sockets sockets;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) AddSockets(table, ports, sockets);
  std::map<int, std::set<pid_t>> listeners;
  if (sockets.empty()) return listeners;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
    AddListener(at->path(), pid, sockets, listeners);
  }
  for (const auto& [_, port] : sockets) {
    if (!listeners.contains(port)) listeners[port].insert(0);
  }
  return listeners;
}

PortHolder HolderOf(int port) {
  const auto listeners = ListenersOn({port});
  if (listeners.empty()) return {};
  const std::set<pid_t>& pids = listeners.begin()->second;
  if (pids.contains(getpid())) return {getpid(), "this process"};
  const pid_t pid = *pids.begin();
  if (pid == 0) return {};
  return {pid, TextOf(fmt::format("/proc/{}", pid), pid)};
}

}  // namespace longshore::process
