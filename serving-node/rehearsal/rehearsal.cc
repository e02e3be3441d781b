#include "serving-node/rehearsal/rehearsal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <new>

#include "common/os/log.h"
#include "common/os/process/process.h"

namespace longshore::rehearsal {
namespace {

using process::Descriptor;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr int kResultDescriptor = 3;  // The file descriptor to which the child writes its result.
constexpr size_t kResultBytesMax = 1 << 20;

std::vector<std::string> Arguments(const RehearsalOptions& options) {
  const control::Validation& validation = options.validation;
  return {options.program.string(),
          "rehearse",
          "--model",
          options.model,
          "--version",
          std::to_string(options.version),
          "--version-dir",
          options.version_dir.string(),
          "--stable-dir",
          options.stable_dir.string(),
          "--golden-set",
          validation.golden_set(),
          "--metric",
          validation.metric(),
          "--minimum",
          fmt::format("{}", validation.minimum()),
          "--relative-tolerance",
          fmt::format("{}", validation.relative_tolerance()),
          "--non-finite-reject",
          validation.non_finite_reject() ? "true" : "false",
          "--deterministic",
          validation.deterministic() ? "true" : "false",
          "--warm-up",
          options.warm_up ? "true" : "false",
          "--memory-bytes-max",
          std::to_string(options.memory_bytes_max)};
}

std::string Encode(const Result<control::GoldenResult>& result) {
  if (!result) return fmt::format("{}\n{}", static_cast<int>(result.error().code), result.error().message);
  return "0\n" + result->SerializeAsString();
}

// Parses the result of the child. Returns nullopt if the child did not write it completely.
std::optional<Result<control::GoldenResult>> Decode(const std::string& text) {
  const size_t line = text.find('\n');
  if (line == std::string::npos) return std::nullopt;
  const int code = std::atoi(text.c_str());
  if (code != 0) return tl::make_unexpected(Error{static_cast<Code>(code), text.substr(line + 1)});
  control::GoldenResult result;
  if (!result.ParseFromString(text.substr(line + 1))) return std::nullopt;
  return result;
}

std::chrono::milliseconds TimeLeft(SteadyTime deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(left, std::chrono::milliseconds(0));
}

// Waits until `fd` has something to read or its other end is closed. Returns DeadlineExceeded at the deadline, and
// Cancelled if stop_fd becomes readable.
Status AwaitReadable(int fd, int stop_fd, SteadyTime deadline) {
  pollfd waiting[] = {{fd, POLLIN, 0}, {stop_fd, POLLIN, 0}};  // poll ignores negative descriptors.
  const int ready = poll(waiting, 2, static_cast<int>(TimeLeft(deadline).count()));
  if (ready == 0) return DeadlineExceeded("the time is up");
  if (waiting[1].revents != 0) return Cancelled("the rehearsal was stopped");
  return {};
}

// Reads everything that the child writes until it closes its end. Returns DeadlineExceeded at the deadline, and
// Cancelled if stop_fd becomes readable.
Status ReadUntilClosed(int fd, int stop_fd, SteadyTime deadline, std::string* text) {
  while (true) {
    RETURN_IF_ERROR(AwaitReadable(fd, stop_fd, deadline));
    char piece[4096];
    const ssize_t got = read(fd, piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || text->size() + static_cast<size_t>(got) > kResultBytesMax) return {};
    text->append(piece, static_cast<size_t>(got));
  }
}

std::string ProcessName(const RehearsalOptions& options) {
  return fmt::format("the rehearsal process of \"{}\" version {}", options.model, options.version);
}

std::string DescribeExit(const process::Exit& exit) {
  std::string how = ToString(exit);
  if (exit.signal == SIGKILL) how += "; a possible cause is that the machine ran out of memory";
  return how;
}

void LimitThisProcess(int64_t memory_bytes_max) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // The rehearsal must not outlive the node.
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (memory_bytes_max <= 0) return;
  const rlimit memory{static_cast<rlim_t>(memory_bytes_max), static_cast<rlim_t>(memory_bytes_max)};
  setrlimit(RLIMIT_AS, &memory);
}

Result<RehearsalOptions> ParseArguments(const std::vector<std::string>& arguments) {
  RehearsalOptions options;
  std::string golden_set, metric = "top1";
  double minimum = 0, tolerance = 0;
  bool non_finite_reject = true, deterministic = false;
  CLI::App app(
      "Loads one version, warms it up and runs its golden set. A node starts this; it is not meant for users.");
  app.add_option("--model", options.model);
  app.add_option("--version", options.version);
  app.add_option("--version-dir", options.version_dir)->required();
  app.add_option("--stable-dir", options.stable_dir);
  app.add_option("--golden-set", golden_set);
  app.add_option("--metric", metric);
  app.add_option("--minimum", minimum);
  app.add_option("--relative-tolerance", tolerance);
  app.add_option("--non-finite-reject", non_finite_reject);
  app.add_option("--deterministic", deterministic);
  app.add_option("--warm-up", options.warm_up);
  app.add_option("--memory-bytes-max", options.memory_bytes_max);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& e) {
    return InvalidArgument("rehearse: {}", e.what());
  }
  options.validation.set_golden_set(golden_set);
  options.validation.set_metric(metric);
  options.validation.set_minimum(minimum);
  options.validation.set_relative_tolerance(tolerance);
  options.validation.set_non_finite_reject(non_finite_reject);
  options.validation.set_deterministic(deterministic);
  return options;
}

Result<control::GoldenResult> JudgeWithinMemory(engine::Engine& engine, const RehearsalOptions& options) {
  try {
    return Judge(engine, options);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("the version needs more memory than the {} bytes that a rehearsal may use",
                             options.memory_bytes_max);
  }
}

}  // namespace

Result<control::GoldenResult> RunRehearsal(const RehearsalOptions& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Unavailable("{} cannot start: cannot create a pipe: {}", ProcessName(options), strerror(errno));
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  auto child = process::Spawn({.argv = Arguments(options),
                               .env = {},
                               .descriptors = {{kResultDescriptor, writing.get()}},
                               .log_file = {},
                               .new_session = false});
  if (!child) return Prefixed(child.error(), ProcessName(options) + " cannot start");
  writing.Reset();
  const SteadyTime deadline = std::chrono::steady_clock::now() + options.time_max;
  std::string text;
  const Status closed = ReadUntilClosed(reading.get(), options.stop_fd, deadline, &text);
  auto exit = closed ? child->Wait(TimeLeft(deadline)) : std::nullopt;
  if (!exit) {
    (void)child->Signal(SIGKILL);
    child->Wait(std::chrono::seconds(10));
    if (!closed && closed.error().code == Code::kCancelled)
      return Cancelled("{} was stopped: the node is shutting down", ProcessName(options));
    return DeadlineExceeded("{} did not end within {} ms and was killed", ProcessName(options),
                            options.time_max.count());
  }
  const auto result = Decode(text);
  if (!exit->ok()) return Aborted("{} {}", ProcessName(options), DescribeExit(*exit));
  if (!result) return Aborted("{} exited without a complete result", ProcessName(options));
  return *result;
}

int Main(const std::vector<std::string>& arguments, engine::Engine& engine) {
  const auto options = ParseArguments(arguments);
  if (!options) {
    spdlog::error("{}", ToString(options.error()));
    return 2;
  }
  LimitThisProcess(options->memory_bytes_max);
  const std::string text = Encode(JudgeWithinMemory(engine, *options));
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(kResultDescriptor, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return 1;
    if (wrote > 0) done += static_cast<size_t>(wrote);
  }
  return 0;
}

}  // namespace longshore::rehearsal
