// Processes identified by pidfd: children, and adopted processes that a previous run of this program has started.
//
//   ASSIGN_OR_RETURN(process::Process node, process::Spawn({.argv = {"/bin/node"}, .descriptors = {{3, listen_fd}}}));
//   RETURN_IF_ERROR(node.Signal(SIGTERM));
//   const std::optional<process::Exit> exit = node.Wait(std::chrono::seconds(5));
//
// Pids are reused. So a process is identified by its pid together with its start time, and signalled by its pidfd.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/os/process/descriptors.h"

namespace longshore::process {

// How a process ended. The details are unknown for adopted processes, because they are not children.
struct Exit {
  bool known = false;
  int code = 0;    // The exit code, if signal is 0.
  int signal = 0;  // The signal that killed it; 0: none.

  bool ok() const { return known && code == 0 && signal == 0; }
};
// Returns "exited with code 1", "was killed by signal 9 (SIGKILL)" or "ended", for example.
std::string ToString(const Exit& exit);

struct SpawnOptions {
  std::vector<std::string> argv{};                // argv[0] is the program's path.
  std::optional<std::vector<std::string>> env{};  // "NAME=value"; nullopt: inherited.
  std::map<int, int> descriptors{};  // Number in the child -> descriptor in this process. The child gets no others.
  Path log_file{};                   // Standard output and error are appended to it; empty: inherited.
  bool new_session = false;  // Starts the program in a new session: it gets no signals of this program's terminal.
};

// Not thread-safe.
class Process {
 public:
  pid_t pid() const { return pid_; }
  // Clock ticks since boot: field 22 of /proc/PID/stat.
  uint64_t start_time() const { return start_time_; }
  // poll() reports this descriptor as readable once the process has ended.
  int pidfd() const { return pidfd_.get(); }
  bool adopted() const { return !child_; }

  // Sends a signal. Returns NotFound if the process has ended.
  Status Signal(int signal) const;

  // Waits for the end of the process. Returns nullopt if it still runs after the timeout. Once the process has ended,
  // every call returns the same result.
  std::optional<Exit> Wait(std::chrono::milliseconds timeout);

 private:
  friend Result<Process> Spawn(const SpawnOptions& options);
  friend Result<Process> AdoptAny(pid_t pid);
  Process(pid_t pid, uint64_t start_time, Descriptor pidfd, bool child)
      : pid_(pid), start_time_(start_time), pidfd_(std::move(pidfd)), child_(child) {}

  pid_t pid_;
  uint64_t start_time_;
  Descriptor pidfd_;
  bool child_;
  std::optional<Exit> exit_;
};

// Starts a program. Returns NotFound or PermissionDenied, with the program's name, if it cannot be run.
Result<Process> Spawn(const SpawnOptions& options);

// Adopts a running process that is not a child. Returns NotFound if it has ended, or if the pid belongs to another
// process now.
Result<Process> Adopt(pid_t pid, uint64_t start_time);

// Adopts the process that has this pid now.
Result<Process> AdoptAny(pid_t pid);

}  // namespace longshore::process
