#include "tests/sim/peer_rules.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "common/base/text.h"

namespace longshore::sim {
namespace {

constexpr std::chrono::seconds kEndMax(10);  // How long the program may take to end after its input has ended.

tl::unexpected<Error> SystemError(const char* call) {
  return Internal("longshore-peer-rules: {}: {}", call, std::strerror(errno));
}

Result<process::Descriptor> FileInMemory(const char* name, std::string_view content) {
  process::Descriptor file(memfd_create(name, MFD_CLOEXEC));
  if (!file.valid()) return SystemError("memfd_create");
  if (write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    return SystemError("write");
  }
  return file;
}

std::string ContentOf(const process::Descriptor& file) {
  std::array<char, 4096> bytes;
  const ssize_t size = pread(file.get(), bytes.data(), bytes.size(), 0);
  return {bytes.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

}  // namespace

Result<std::unique_ptr<PeerRules>> PeerRules::Start(const std::string& program, const Json& settings) {
  ASSIGN_OR_RETURN(const process::Descriptor file, FileInMemory("settings", Json{{"settings", settings}}.dump()));
  ASSIGN_OR_RETURN(process::Descriptor messages, FileInMemory("messages", ""));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return SystemError("socketpair");
  process::Descriptor ours(ends[0]);
  const process::Descriptor theirs(ends[1]);
  const timeval patience{kAnswerSecondsMax, 0};
  setsockopt(ours.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ASSIGN_OR_RETURN(
      process::Process process,
      process::Spawn({.argv = {program, "--settings", "/dev/fd/3"},
                      .descriptors = {{0, theirs.get()}, {1, theirs.get()}, {2, messages.get()}, {3, file.get()}}}));
  return std::unique_ptr<PeerRules>(new PeerRules(program, std::move(process), std::move(ours), std::move(messages)));
}

PeerRules::~PeerRules() {
  lines_.Reset();
  if (process_.Wait(kEndMax)) return;
  (void)process_.Signal(SIGKILL);
  process_.Wait(kEndMax);
}

Result<std::vector<PeerDecision>> PeerRules::Judge(const std::string& rollout) {
  RETURN_IF_ERROR(Send(rollout));
  RETURN_IF_ERROR(Send("\n"));
  ASSIGN_OR_RETURN(const std::string line, ReadLine());
  ASSIGN_OR_RETURN(const Json answer, ParseJson(line));
  try {
    std::vector<PeerDecision> decisions;
    for (const Json& decision : answer.at("decisions")) {
      decisions.push_back({decision.at("decision").get_ref<const std::string&>() == "rolled_back",
                           decision.at("candidate_requests").get<double>()});
    }
    return decisions;
  } catch (const Json::exception& error) {
    return DataLoss("{} printed an unexpected answer: {}", program_, error.what());
  }
}

Status PeerRules::Send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(lines_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Ended();
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

Result<std::string> PeerRules::ReadLine() {
  std::array<char, 1 << 16> bytes;
  size_t searched = 0;
  for (;;) {
    const size_t end = read_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    searched = read_.size();
    const ssize_t received = recv(lines_.get(), bytes.data(), bytes.size(), 0);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return DeadlineExceeded("{} did not answer within {} s", program_, kAnswerSecondsMax);
    }
    if (received <= 0) return Ended();
    read_.append(bytes.data(), static_cast<size_t>(received));
  }
}

tl::unexpected<Error> PeerRules::Ended() {
  const std::optional<process::Exit> exit = process_.Wait(kEndMax);
  return FailedPrecondition("{} {}: {}", program_, exit ? ToString(*exit) : "closed its output but still runs",
                            ContentOf(messages_));
}

}  // namespace longshore::sim
