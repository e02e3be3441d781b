// Processes by pidfd: started by us, or adopted because an earlier life of ours started them.
//
//   ASSIGN_OR_RETURN(process::Process node, process::Spawn({.argv = {"/bin/node"}, .descriptors = {{3, listen_fd}}}));
//   RETURN_IF_ERROR(node.Signal(SIGTERM));
//   const std::optional<process::Exit> exit = node.Wait(std::chrono::seconds(5));
//
// A pid alone may be re-used, so a process is named by its pid and its start time, and signalled by its pidfd.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "common/process/descriptors.h"

namespace longshore::process {

// How a process ended. Of an adopted process, which is no child, nothing is known but that it ended.
struct Exit {
  bool known = false;
  int code = 0;    // Of exit(), when signal is 0.
  int signal = 0;  // That killed it; 0: none.

  bool ok() const { return known && code == 0 && signal == 0; }
};
// "exited with code 1", "was killed by signal 9 (SIGKILL)", "ended".
std::string ToString(const Exit& exit);

struct SpawnOptions {
  std::vector<std::string> argv{};                // argv[0] is the program's path.
  std::optional<std::vector<std::string>> env{};  // "NAME=value"; absent: as ours.
  std::map<int, int> descriptors{};               // Number in the child -> descriptor here. All others are closed.
  Path log_file{};                                // Standard output and error are appended to it; empty: as ours.
  bool new_session = false;                       // Signals of our terminal do not reach it.
};

// Belongs to one thread at a time.
class Process {
 public:
  pid_t pid() const { return pid_; }
  // In clock ticks since boot, field 22 of /proc/PID/stat.
  uint64_t start_time() const { return start_time_; }
  // Readable, as poll() says, when the process has ended.
  int pidfd() const { return pidfd_.get(); }
  bool adopted() const { return !child_; }

  // NotFound when it has ended.
  Status Signal(int signal) const;

  // How it ended, or nothing when it still runs after the timeout. The answer stays the same ever after.
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

// Starts a program. NotFound or PermissionDenied naming the program when it cannot be run.
Result<Process> Spawn(const SpawnOptions& options);

// A running process that is not our child. NotFound when it has ended, or when the pid now means another process.
Result<Process> Adopt(pid_t pid, uint64_t start_time);

// Whichever process has this pid now.
Result<Process> AdoptAny(pid_t pid);

}  // namespace longshore::process
