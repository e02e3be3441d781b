// Runs a fuzzer without libFuzzer: see --help.
#include <google/protobuf/stubs/logging.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/file.h"
#include "common/log.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/memory.h"
#include "tests/fuzz/mutate.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace longshore::fuzz {
namespace {

constexpr const char* kHelp =
    "NAME_fuzz [--runs N] [--seconds N] [--seed N] [--keep FILE] CORPUS...\n"
    "Runs the files, as they are and with every byte damaged, then N mutations of them [3000], or mutations "
    "for so many seconds. An input that fails is "
    "written\n"
    "to FILE [NAME.input]; give it as the only CORPUS to run it alone.\n";

struct Options {
  uint64_t runs = 3000;
  double seconds = 0;  // 0: until the runs are done.
  uint32_t seed = 1;
  std::string keep;
  std::vector<Path> corpus;
};

struct Worst {
  size_t extra = 0, bytes = 0;
};

size_t received_more = 0;      // By AddReceived, of the input under way.
size_t parsed = 0;             // By AddParsed.
const std::string* under_way;  // What to keep when the process dies.
std::string keep_as;

void Keep(const std::string& input) {
  std::ofstream(keep_as, std::ios::binary) << input;
  std::fprintf(stderr, "the input is kept in %s\n", keep_as.c_str());
}

void KeepUnderWay() {
  if (under_way != nullptr) Keep(*under_way);
}

void KeepOnDeath() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(KeepUnderWay);
#endif
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) {
    std::signal(signal, [](int number) {
      KeepUnderWay();
      std::signal(number, SIG_DFL);
      std::raise(number);
    });
  }
}

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The fuzzer's input under way, measured.
class Runner {
 public:
  // False when the input took too much.
  bool Run(const std::string& input) {
    ++inputs_;
    Measure(input);
    // What is made once, at its first use, is not this input's.
    if (extra_ > limit_ || seconds_ > kSecondsMax) Measure(input);
    slowest_ = std::max(slowest_, seconds_);
    if (extra_ > worst_.extra) worst_ = {extra_, received_};
    if (extra_ <= limit_ && seconds_ <= kSecondsMax) return true;
    std::fprintf(
        stderr, "an input of %zu bytes (%zu received) took %zu bytes of memory (limit %zu) and %.3f s (limit %.0f s)\n",
        input.size(), received_, extra_, limit_, seconds_, kSecondsMax);
    Keep(input);
    return false;
  }

  void Print(const std::string& name) const {
    std::printf(
        "%s: %llu inputs, at most %.1f KiB of memory beside an input (of %zu bytes; allowed: %zu x its bytes + %zu "
        "KiB), "
        "slowest %.1f ms\n",
        name.c_str(), static_cast<unsigned long long>(inputs_), static_cast<double>(worst_.extra) / 1024, worst_.bytes,
        kAllowance.per_byte, kAllowance.fixed_bytes >> 10, slowest_ * 1e3);
  }

 private:
  void Measure(const std::string& input) {
    under_way = &input;
    received_more = 0;
    parsed = 0;
    ResetPeak();
    const size_t before = HeldBytes();
    const double begin = CpuSeconds();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
    seconds_ = CpuSeconds() - begin;
    extra_ = PeakBytes() - before;
    received_ = input.size() + received_more;
    limit_ = kAllowance.For(received_);
    if (parsed > 0) limit_ = std::min(limit_, kOfRequests.For(received_ + parsed));
    under_way = nullptr;
  }

  uint64_t inputs_ = 0;
  size_t extra_ = 0, received_ = 0, limit_ = 0;
  double seconds_ = 0, slowest_ = 0;
  Worst worst_;
};

std::vector<std::string> ReadCorpus(const std::vector<Path>& paths) {
  std::vector<Path> files;
  for (const Path& path : paths) {
    if (!std::filesystem::is_directory(path)) files.push_back(path);
    if (!std::filesystem::is_directory(path)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> inputs;
  for (const Path& file : files) {
    auto bytes = ReadFile(file);
    if (!bytes) std::fprintf(stderr, "%s\n", bytes.error().message.c_str());
    if (bytes) inputs.push_back(std::move(*bytes));
  }
  return inputs;
}

Options Parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const char* value = i + 1 < count ? arguments[i + 1] : "";
    if (argument == "--help") std::exit((std::fputs(kHelp, stdout), 0));
    if (argument == "--runs") options.runs = std::strtoull(value, nullptr, 10);
    if (argument == "--seconds") options.seconds = std::strtod(value, nullptr);
    if (argument == "--seed") options.seed = static_cast<uint32_t>(std::strtoul(value, nullptr, 10));
    if (argument == "--keep") options.keep = value;
    if (argument.starts_with("--"))
      ++i;
    else
      options.corpus.emplace_back(argument);
  }
  return options;
}

// Every byte of the input damaged, one after the other.
bool RunDamaged(const std::string& input, Runner& runner) {
  std::string damaged = input;
  for (size_t i = 0; i < input.size(); ++i) {
    damaged[i] = static_cast<char>(input[i] ^ (1 << i % 8));
    if (!runner.Run(damaged)) return false;
    damaged[i] = input[i];
  }
  return true;
}

int Main(int count, char** arguments) {
  CountMemory();
  Options options = Parse(count, arguments);
  const std::string name = Path(arguments[0]).filename().string();
  keep_as = options.keep.empty() ? name + ".input" : options.keep;
  // Logging thousands of bad inputs is not what is measured.
  spdlog::set_level(spdlog::level::off);
  google::protobuf::SetLogHandler(nullptr);
  KeepOnDeath();
  const auto corpus = ReadCorpus(options.corpus);
  if (corpus.empty()) return std::fprintf(stderr, "no corpus\n%s", kHelp), 2;
  Runner runner;
  for (const std::string& input : corpus) {
    if (!runner.Run(input)) return 1;
  }
  for (const std::string& input : corpus) {
    if (!RunDamaged(input, runner)) return 1;
  }
  Mutator mutator(corpus, options.seed, kInputBytesMax);
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
  for (uint64_t i = 0; options.seconds > 0 ? std::chrono::steady_clock::now() < until : i < options.runs; ++i) {
    if (!runner.Run(mutator.Next())) return 1;
  }
  runner.Print(name);
  return 0;
}

}  // namespace

void AddReceived(size_t bytes) { received_more += bytes; }
void AddParsed(size_t bytes) { parsed += bytes; }

}  // namespace longshore::fuzz

int main(int count, char** arguments) { return longshore::fuzz::Main(count, arguments); }
