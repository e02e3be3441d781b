#include "tests/bench/engine/runner.h"

#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>

#include "common/os/file.h"
#include "serving-node/engine/cpu/cpu.h"
#include "serving-node/tensor/npy.h"
#include "tests/bench/engine/allocations.h"

namespace longshore::bench::engine {
namespace {

using Steady = std::chrono::steady_clock;

constexpr size_t kNpyBytesMax = size_t{1} << 30;
constexpr char kSignature[] = "serving_default";

double SecondsSince(Steady::time_point began) { return std::chrono::duration<double>(Steady::now() - began).count(); }

class Runner {
 public:
  explicit Runner(std::shared_ptr<longshore::engine::LoadedModel> model) : model_(std::move(model)) {}

  Result<std::string> Obey(const std::string& line) {
    std::istringstream words(line);
    std::string verb, name, rest;
    words >> verb >> name >> rest;
    if (verb == "inputs") return ReadInputs(name, rest);
    if (verb == "time") return Time(name, std::stoi(rest));
    if (verb == "save") return Save(name, rest);
    if (verb == "allocations") return AllocationsOfRun(name);
    if (verb == "memory") return ResidentKilobytes();
    return InvalidArgument("\"{}\" is not a known command", line);
  }

 private:
  Result<std::string> ReadInputs(const std::string& name, const Path& folder) {
    longshore::engine::TensorMap inputs;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      ASSIGN_OR_RETURN(const std::string bytes, ReadFile(entry.path(), kNpyBytesMax));
      ASSIGN_OR_RETURN(inputs[entry.path().stem().string()], tensor::ParseNpy(bytes));
    }
    inputs_[name] = std::move(inputs);
    return std::string("0");  // Not measured: the first run of these shapes includes preparation.
  }

  Result<longshore::engine::TensorMap> Run(const std::string& name) {
    return longshore::engine::RunAndWait(*model_, {.signature = kSignature, .inputs = inputs_[name], .outputs = {}});
  }

  Result<std::string> Time(const std::string& name, int count) {
    std::string seconds;
    for (int i = 0; i < count; ++i) {
      const auto began = Steady::now();
      ASSIGN_OR_RETURN(const auto outputs, Run(name));
      seconds += fmt::format("{:.9f} ", SecondsSince(began));
    }
    return seconds;
  }

  // Counts the allocations of running the model and making the answer, but not those of making the request.
  Result<std::string> AllocationsOfRun(const std::string& name) {
    longshore::engine::RunRequest request{.signature = kSignature, .inputs = inputs_[name], .outputs = {}};
    request.thread = longshore::engine::Thread::kCallers;
    int64_t after = 0;
    Status ran;
    const int64_t before = Allocations();
    model_->Run(std::move(request), [&](Result<longshore::engine::RunResult> result) {
      after = Allocations();
      if (!result) ran = tl::make_unexpected(result.error());
    });
    RETURN_IF_ERROR(ran);
    return std::to_string(after - before);
  }

  Result<std::string> Save(const std::string& name, const Path& folder) {
    ASSIGN_OR_RETURN(const auto outputs, Run(name));
    for (const auto& [output, value] : outputs) {
      ASSIGN_OR_RETURN(const std::string bytes, tensor::ToNpy(value));
      RETURN_IF_ERROR(WriteFileAtomically(folder / (output + ".npy"), bytes));
    }
    return std::string("ok");
  }

  static Result<std::string> ResidentKilobytes() {
    std::ifstream file("/proc/self/status");
    const std::string status(std::istreambuf_iterator<char>(file), {});
    const size_t at = status.find("VmRSS:");
    if (at == std::string::npos) return Internal("/proc/self/status has no such line");
    return std::to_string(std::stoll(status.substr(at + 6)));
  }

  std::shared_ptr<longshore::engine::LoadedModel> model_;
  std::map<std::string, longshore::engine::TensorMap> inputs_;
};

}  // namespace

int EngineMain(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "longshore-engine DIR THREADS: see tests/bench/engine/runner.h\n";
    return 2;
  }
  const auto began = Steady::now();
  const auto engine = longshore::engine::cpu::MakeEngine({.runs = 1, .threads_per_run = std::stoi(argv[2])});
  auto model = engine->Load(argv[1], {});
  if (!model) {
    std::cout << "error: " << ToString(model.error()) << std::endl;
    return 1;
  }
  std::cout << fmt::format("loaded {:.6f}", SecondsSince(began)) << std::endl;
  Runner runner(*model);
  for (std::string line; std::getline(std::cin, line);) {
    const auto answer = runner.Obey(line);
    std::cout << (answer ? *answer : "error: " + ToString(answer.error())) << std::endl;
  }
  return 0;
}

}  // namespace longshore::bench::engine
