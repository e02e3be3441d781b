// longshore-node: serves TensorFlow models, standalone or as a node of a fleet.
#include <absl/synchronization/mutex.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "common/node_contract/drain.h"
#include "common/os/allocator.h"
#include "common/os/log.h"
#include "common/os/log_file.h"
#include "serving-node/app/flags/flags.h"
#include "serving-node/app/node.h"
#include "serving-node/engine/cpu/cpu.h"
#include "serving-node/observe/replay/replay.h"
#include "serving-node/rehearsal/rehearsal.h"

namespace longshore::app {
namespace {

constexpr timespec kTick{.tv_sec = 0, .tv_nsec = 50'000'000};
constexpr timespec kTickBeforeOpen{.tv_sec = 0, .tv_nsec = 2'000'000};

// Blocks the signals before any thread starts, so that only the main loop receives them.
sigset_t BlockSignals() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// The output of a crash goes to the same file as the log.
Status StartLog(const flags::ObserveFlags& flags) {
  if (flags.log_file.path.empty()) return InitLog("longshore-node", flags.log_level);
  LogFile::Options options = flags.log_file;
  options.descriptors = {STDOUT_FILENO, STDERR_FILENO};
  auto file = LogFile::Open(options);
  if (!file) return Prefixed(file.error(), "--log_file");
  return InitLogInFile("longshore-node", flags.log_level, std::move(*file));
}

Status Serve(const flags::Flags& flags, const std::vector<std::string>& notes) {
  // Debian's Abseil checks for deadlocks at every lock that gRPC takes, which costs about 5 % of a short request.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const sigset_t signals = BlockSignals();
  RETURN_IF_ERROR(StartLog(flags.observe));
  if (flags.limits.gpu_memory_fraction > 0)
    spdlog::warn("--per_process_gpu_memory_fraction has no effect: the engine runs on the CPU");
  for (const std::string& note : notes) spdlog::warn("{}", ForLog(note));
  ASSIGN_OR_RETURN(const auto node, Node::Start(flags));
  bool asked = false;
  while (!node->left()) {
    RETURN_IF_ERROR(node->Tick());
    if (sigtimedwait(&signals, nullptr, node->open() ? &kTick : &kTickBeforeOpen) < 0) continue;
    if (std::exchange(asked, true)) {
      spdlog::warn("received a second signal: exiting at once");
      std::_Exit(EXIT_FAILURE);
    }
    node->Leave();
  }
  spdlog::info("shutdown complete");
  // Only loads of models that no request needs may still be running. _Exit does not wait for them, and the system frees
  // all memory at once.
  std::_Exit(EXIT_SUCCESS);
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::map<std::string, std::string> OtelVariables() {
  std::map<std::string, std::string> variables;
  for (const std::string& name : flags::TraceFlags::Variables()) variables[name] = Variable(name.c_str());
  return variables;
}

int Main(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments.front() == "rehearse") {
    const auto engine = engine::cpu::MakeEngine();
    return rehearsal::Main({arguments.begin() + 1, arguments.end()}, *engine);
  }
  if (!arguments.empty() && arguments.front() == "replay") {
    const auto engine = engine::cpu::MakeEngine();
    return replay::Main({arguments.begin() + 1, arguments.end()}, *engine, std::cout);
  }
  const auto parsed = flags::ParseFlags(arguments, {.model_name = Variable("MODEL_NAME"),
                                                    .model_base_path = Variable("MODEL_BASE_PATH"),
                                                    .tf_cpp_min_log_level = Variable("TF_CPP_MIN_LOG_LEVEL"),
                                                    .tf_cpp_max_vlog_level = Variable("TF_CPP_MAX_VLOG_LEVEL"),
                                                    .drain_max_ms = Variable(node_contract::kDrainMaxVariable),
                                                    .otel = OtelVariables()});
  if (parsed && !parsed->print.empty()) {
    std::fputs(parsed->print.c_str(), stdout);
    return EXIT_SUCCESS;
  }
  const Status served = parsed ? Serve(parsed->flags, parsed->notes) : tl::make_unexpected(parsed.error());
  if (served) return EXIT_SUCCESS;
  std::fprintf(stderr, "longshore-node: %s\n", served.error().message.c_str());
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace longshore::app

int main(int argc, char** argv) { return longshore::app::Main({argv + 1, argv + argc}); }
