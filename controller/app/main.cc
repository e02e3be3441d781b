// longshore-controller: brings fleets of serving nodes to the state that the manifests declare.
#include <signal.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/net/http_client/client.h"
#include "common/os/allocator.h"
#include "common/os/log.h"
#include "controller/app/controller.h"
#include "controller/app/flags.h"

namespace longshore::app {
namespace {

// Handles SIGTERM and SIGINT on a separate thread; all other threads block these signals.
class SignalThread {
 public:
  explicit SignalThread(std::function<void(int)> on_signal) : on_signal_(std::move(on_signal)) {
    thread_ = std::thread([this] {
      int signal = 0;
      sigwait(&Signals(), &signal);
      on_signal_(signal);
    });
  }
  ~SignalThread() {
    pthread_kill(thread_.native_handle(), SIGTERM);  // Wakes the thread if it still waits.
    thread_.join();
  }
  static const sigset_t& Signals() {
    static const sigset_t signals = [] {
      sigset_t set;
      sigemptyset(&set);
      sigaddset(&set, SIGTERM);
      sigaddset(&set, SIGINT);
      return set;
    }();
    return signals;
  }

 private:
  const std::function<void(int)> on_signal_;
  std::thread thread_;
};

Status Stop(const HostOptions& host) {
  ASSIGN_OR_RETURN(const std::string done, StopFleets(host.state_dir, host.manifests, SystemClock()));
  fmt::print("{}\n", done);
  return {};
}

Status Run(const Flags& flags) {
  if (flags.verb == Flags::Verb::kStopFleets) return Stop(flags.host);
  ASSIGN_OR_RETURN(const std::unique_ptr<Controller> controller,
                   flags.verb == Flags::Verb::kCluster ? StartInCluster(flags.cluster) : StartOnHost(flags.host));
  const SignalThread signals([&](int) { controller->Stop(); });
  return controller->Run();
}

int Main(int argc, char** argv) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  http_client::Init();  // Changes the environment of this process, so the nodes get the copy made before.
  const auto parsed = ParseFlags(argc, argv);
  if (!parsed) {
    fmt::print(stderr, "{}\n", parsed.error().message);
    return 2;
  }
  if (!*parsed) return 0;
  Flags flags = **parsed;
  flags.host.node_environment = std::move(environment);
  if (const Status log = InitLog("longshore-controller", flags.log_level); !log) {
    fmt::print(stderr, "--log_level: {}\n", log.error().message);
    return 2;
  }
  const Status ran = Run(flags);
  if (!ran) spdlog::error("{}", ran.error().message);
  return ran ? 0 : 1;
}

}  // namespace
}  // namespace longshore::app

int main(int argc, char** argv) {
  // Threads inherit the signal mask, so it is set before any thread starts.
  pthread_sigmask(SIG_BLOCK, &longshore::app::SignalThread::Signals(), nullptr);
  return longshore::app::Main(argc, argv);
}
