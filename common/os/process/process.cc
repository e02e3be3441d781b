#include "common/os/process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace longshore::process {
namespace {

// Descriptor numbers in the child must be below this limit. Temporary copies of the source descriptors get numbers from
// this limit upwards, so that they never collide with the numbers in the child.
constexpr int kChildDescriptorsMax = 64;

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Gives the child the system's default signal handling, even if the parent blocks or ignores signals.
class Attributes {
 public:
  explicit Attributes(bool new_session) {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    const int session = new_session ? POSIX_SPAWN_SETSID : 0;
    posix_spawnattr_setflags(&attributes_,
                             static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | session));
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Copies the source descriptors to numbers above those of the child, and maps each copy to its number in the child.
Result<std::vector<Descriptor>> MapDescriptors(const std::map<int, int>& wanted, FileActions& actions) {
  std::vector<Descriptor> copies;
  for (const auto& [number, source] : wanted) {
    if (number < 0 || number >= kChildDescriptorsMax) {
      return InvalidArgument("descriptor number {} of the child must be 0 to {}", number, kChildDescriptorsMax - 1);
    }
    Descriptor copy(fcntl(source, F_DUPFD_CLOEXEC, kChildDescriptorsMax));
    if (!copy.valid())
      return InvalidArgument("cannot pass descriptor {} to the child: {}", source, std::strerror(errno));
    posix_spawn_file_actions_adddup2(actions.get(), copy.get(), number);
    copies.push_back(std::move(copy));
  }
  return copies;
}

struct Stat {
  char state = '?';
  uint64_t start_time = 0;
};

// The program's name is in brackets and may contain any character, so fields are counted from the last closing bracket.
Result<Stat> ReadStat(pid_t pid) {
  const std::string path = fmt::format("/proc/{}/stat", pid);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];
  const ssize_t size = file.valid() ? read(file.get(), text, sizeof(text)) : -1;
  if (size <= 0) return NotFound("process {} does not exist", pid);
  const std::string_view line(text, static_cast<size_t>(size));
  size_t at = line.rfind(") ");
  if (at == std::string_view::npos) return Internal("cannot parse {}", path);
  Stat stat;
  stat.state = line[at + 2];
  constexpr int kSpacesToStartTime = 20;  // From the space before field 3 (state) to the one before field 22.
  ++at;
  for (int i = 0; i + 1 < kSpacesToStartTime && at != std::string_view::npos; ++i) at = line.find(' ', at + 1);
  if (at == std::string_view::npos) return Internal("cannot parse {}", path);
  std::from_chars(line.data() + at + 1, line.data() + line.size(), stat.start_time);
  return stat;
}

Descriptor OpenPidfd(pid_t pid) {
  Descriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd.valid()) fcntl(pidfd.get(), F_SETFD, FD_CLOEXEC);
  return pidfd;
}

}  // namespace

std::string ToString(const Exit& exit) {
  if (!exit.known) return "ended";
  if (exit.signal == 0) return fmt::format("exited with code {}", exit.code);
  const char* name = sigabbrev_np(exit.signal);
  return fmt::format("was killed by signal {} (SIG{})", exit.signal, name == nullptr ? "?" : name);
}

Result<Process> Spawn(const SpawnOptions& options) {
  CHECK(!options.argv.empty());
  FileActions actions;
  ASSIGN_OR_RETURN(const std::vector<Descriptor> copies, MapDescriptors(options.descriptors, actions));
  Descriptor log;
  if (!options.log_file.empty()) {
    log.Reset(open(options.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!log.valid()) return Unavailable("cannot open {}: {}", options.log_file.string(), std::strerror(errno));
    posix_spawn_file_actions_adddup2(actions.get(), log.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(actions.get(), log.get(), STDERR_FILENO);
  }
  const Attributes attributes(options.new_session);
  const std::vector<char*> argv = Pointers(options.argv);
  const std::vector<char*> env = options.env ? Pointers(*options.env) : std::vector<char*>{};
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, argv[0], actions.get(), attributes.get(), argv.data(), options.env ? env.data() : environ);
  if (error == ENOENT) return NotFound("program {} does not exist", options.argv[0]);
  if (error == EACCES) return PermissionDenied("no permission to run {}", options.argv[0]);
  if (error != 0) return Unavailable("cannot run {}: {}", options.argv[0], std::strerror(error));
  // The pid cannot be reused before the child has been waited for, so OpenPidfd and ReadStat both refer to this child.
  Descriptor pidfd = OpenPidfd(pid);
  CHECK(pidfd.valid());
  ASSIGN_OR_RETURN(const Stat stat, ReadStat(pid));
  return Process(pid, stat.start_time, std::move(pidfd), true);
}

Result<Process> AdoptAny(pid_t pid) {
  if (pid <= 0) return NotFound("process {} does not exist", pid);
  Descriptor pidfd = OpenPidfd(pid);
  if (!pidfd.valid()) return NotFound("process {} does not exist", pid);
  // ReadStat must follow OpenPidfd. Then its result describes the process of `pidfd`, unless that process has ended.
  ASSIGN_OR_RETURN(const Stat stat, ReadStat(pid));
  if (stat.state == 'Z' || stat.state == 'X') return NotFound("process {} has ended", pid);
  return Process(pid, stat.start_time, std::move(pidfd), false);
}

Result<Process> Adopt(pid_t pid, uint64_t start_time) {
  ASSIGN_OR_RETURN(Process found, AdoptAny(pid));
  if (found.start_time() != start_time) return NotFound("pid {} belongs to another process now", pid);
  return found;
}

Status Process::Signal(int signal) const {
  if (exit_ || syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0) != 0) {
    return NotFound("process {} has ended", pid_);
  }
  return {};
}

std::optional<Exit> Process::Wait(std::chrono::milliseconds timeout) {
  if (exit_) return exit_;
  pollfd ended{pidfd_.get(), POLLIN, 0};
  if (poll(&ended, 1, static_cast<int>(timeout.count())) <= 0) return std::nullopt;
  exit_ = Exit{};
  siginfo_t info{};
  // Only a parent can learn how a process ended; an adopted process is not a child.
  if (child_ && waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info, WEXITED) == 0) {
    const bool exited = info.si_code == CLD_EXITED;
    exit_ = {.known = true, .code = exited ? info.si_status : 0, .signal = exited ? 0 : info.si_status};
  }
  return exit_;
}

}  // namespace longshore::process
