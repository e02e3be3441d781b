#include "tests/fuzz/driver/measure.h"

#include <google/protobuf/stubs/logging.h>
#include <time.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <utility>

#include "common/os/log.h"
#include "tests/fuzz/driver/memory.h"

#ifdef LONGSHORE_SANITIZER_ADDRESS
#include <sanitizer/common_interface_defs.h>
#endif

namespace longshore::fuzz::driver {
namespace {

const std::string* under_way;  // The current input, which is written to a file if the process dies.
std::string keep_path;

void Keep(const std::string& input) {
  std::ofstream(keep_path, std::ios::binary) << input;
  std::fprintf(stderr, "the input is kept in %s\n", keep_path.c_str());
}

void KeepUnderWay() {
  if (under_way != nullptr) Keep(*under_way);
}

void KeepOnDeath() {
#ifdef LONGSHORE_SANITIZER_ADDRESS
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

}  // namespace

Measured::Measured(Fuzzer* fuzzer, std::string keep_as) : fuzzer_(fuzzer) {
  keep_path = std::move(keep_as);
  CountMemory();
  // Turns logs off, because the logs of thousands of bad inputs would be measured, too.
  spdlog::set_level(spdlog::level::off);
  google::protobuf::SetLogHandler(nullptr);
  KeepOnDeath();
}

bool Measured::Run(const std::string& input) {
  ++inputs_;
  Measure(input);
  // The first run also includes allocations that are made only once, so an input that took too much runs again.
  if (extra_ > limit_ || seconds_ > kSecondsMax) Measure(input);
  slowest_ = std::max(slowest_, seconds_);
  if (extra_ > worst_.extra) worst_ = {extra_, received_};
  if (extra_ <= limit_ && seconds_ <= kSecondsMax) return true;
  std::fprintf(stderr,
               "an input of %zu bytes (%zu received) took %zu bytes of memory (limit %zu) and %.3f s (limit %.0f s)\n",
               input.size(), received_, extra_, limit_, seconds_, kSecondsMax);
  Keep(input);
  return false;
}

void Measured::Print(const std::string& name) const {
  std::printf(
      "%s: %llu inputs, at most %.1f KiB of memory in addition to an input (of %zu bytes; allowed: %zu x its bytes + "
      "%zu "
      "KiB), slowest %.1f ms\n",
      name.c_str(), static_cast<unsigned long long>(inputs_), static_cast<double>(worst_.extra) / 1024, worst_.bytes,
      kAllowance.per_byte, kAllowance.fixed_bytes >> 10, slowest_ * 1e3);
}

void Measured::Measure(const std::string& input) {
  under_way = &input;
  added = {};
  ResetPeak();
  const size_t before = HeldBytes();
  const double begin = CpuSeconds();
  fuzzer_(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  seconds_ = CpuSeconds() - begin;
  extra_ = PeakBytes() - before;
  received_ = input.size() + added.received;
  limit_ = kAllowance.For(received_);
  if (added.parsed > 0) limit_ = std::min(limit_, kOfRequests.For(received_ + added.parsed));
  under_way = nullptr;
}

}  // namespace longshore::fuzz::driver
