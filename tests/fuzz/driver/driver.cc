// Runs a fuzzer without libFuzzer: see --help.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/os/file.h"
#include "tests/fuzz/driver/measure.h"
#include "tests/fuzz/driver/mutate.h"
#include "tests/fuzz/fuzz.h"
#include "tests/seeds/seeds.h"

namespace longshore::fuzz::driver {
namespace {

constexpr const char* kHelp =
    "NAME_fuzz [--runs N] [--seconds N] [--seed N] [--keep FILE] CORPUS...\n"
    "Runs the files as they are and with every byte damaged, then N mutations of them [3000], or mutations for N "
    "seconds. The seed of the mutations is new in each run.\n"
    "An input that fails is written to FILE [NAME.input]; give it as the only CORPUS to run it alone.\n";

struct Options {
  uint64_t runs = 3000;
  double seconds = 0;  // The time limit for the mutations; 0: `runs` limits them.
  std::optional<uint32_t> seed;
  std::string keep;
  std::vector<Path> corpus;
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

// Runs the input once for each of its bytes, with that byte damaged.
bool RunDamaged(const std::string& input, Measured& runner) {
  std::string damaged = input;
  for (size_t i = 0; i < input.size(); ++i) {
    damaged[i] = static_cast<char>(input[i] ^ (1 << i % 8));
    if (!runner.Run(damaged)) return false;
    damaged[i] = input[i];
  }
  return true;
}

int Main(int count, char** arguments) {
  Options options = Parse(count, arguments);
  const std::string name = Path(arguments[0]).filename().string();
  const auto corpus = ReadCorpus(options.corpus);
  if (corpus.empty()) return std::fprintf(stderr, "no corpus\n%s", kHelp), 2;
  Measured runner(LLVMFuzzerTestOneInput, options.keep.empty() ? name + ".input" : options.keep);
  for (const std::string& input : corpus) {
    if (!runner.Run(input)) return 1;
  }
  for (const std::string& input : corpus) {
    if (!RunDamaged(input, runner)) return 1;
  }
  Mutator mutator(corpus, options.seed ? *options.seed : static_cast<uint32_t>(seeds::First()), kInputBytesMax);
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
  for (uint64_t i = 0; options.seconds > 0 ? std::chrono::steady_clock::now() < until : i < options.runs; ++i) {
    if (!runner.Run(mutator.Next())) return 1;
  }
  runner.Print(name);
  return 0;
}

}  // namespace

}  // namespace longshore::fuzz::driver

int main(int count, char** arguments) { return longshore::fuzz::driver::Main(count, arguments); }
