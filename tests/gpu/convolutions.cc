// Which plans cuDNN has for the convolutions of shapes.txt, whether they run, how long they take and how exact they
// are.
//
//   convolutions SHAPES BATCH         times the plans at this batch
//   convolutions SHAPES BATCH FILE    only lists the plans for the device that FILE describes; needs no GPU
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <thread>

#include "tests/gpu/convolution_runs.h"
#include "tests/gpu/device.h"

namespace longshore::gpu {
namespace {

struct Variant {
  const char* name;
  Layout layout;
  cudnnDataType_t type;
  Fusion fusion;
  bool uses_tensor_cores;
};
constexpr Variant kVariants[] = {
    {"float32", Layout::kNhwc, CUDNN_DATA_FLOAT, Fusion::kNone, false},
    {"float32 NCHW", Layout::kNchw, CUDNN_DATA_FLOAT, Fusion::kNone, false},
    {"float32 + bias + relu", Layout::kNhwc, CUDNN_DATA_FLOAT, Fusion::kBiasRelu, false},
    {"float32 + bias + residual + relu", Layout::kNhwc, CUDNN_DATA_FLOAT, Fusion::kBiasResidualRelu, false},
    {"TF32", Layout::kNhwc, CUDNN_DATA_FLOAT, Fusion::kNone, true},
    {"bfloat16", Layout::kNhwc, CUDNN_DATA_BFLOAT16, Fusion::kNone, true},
};
constexpr size_t kVariantCount = std::size(kVariants);
constexpr size_t kTensorCorePlansMax =
    3;  // Only the best in the opinion of the heuristics: their time is for comparison.

// The names of all plans would be too long: equal fingerprints mean the same plans in the same order.
std::string Fingerprint(const std::vector<Plan>& plans) {
  std::string names;
  for (const Plan& plan : plans) names += plan.Name() + ";";
  char text[16];
  std::snprintf(text, sizeof text, "%08zx", std::hash<std::string>()(names) & 0xffffffff);
  return text;
}

Prepared Prepare(const Convolution& shape, int64_t batch, const Variant& variant, const Target& target, bool build) {
  Prepared prepared;
  prepared.request = {shape, batch, variant.layout, variant.type, variant.fusion};
  try {
    prepared.graph = std::make_unique<ConvolutionGraph>(prepared.request, target);
    std::vector<Plan> plans = prepared.graph->Plans(target);
    for (Plan& plan : plans) {
      const bool is_wanted = variant.uses_tensor_cores ? plan.Has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) : plan.IsFloat32();
      if (!is_wanted || (variant.uses_tensor_cores && prepared.plans.size() == kTensorCorePlansMax)) continue;
      if (build) ConvolutionGraph::Build(plan, target);
      prepared.plans.push_back(std::move(plan));
    }
  } catch (const std::exception& error) {
    prepared.error = error.what();
  }
  return prepared;
}

// Prepares every shape in every variant, with several threads, because some plans are compiled now.
std::vector<Prepared> PrepareAll(const Shapes& shapes, int64_t batch, const std::vector<Target>& targets, bool build) {
  std::vector<Prepared> all(shapes.convolutions.size() * kVariantCount);
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> threads;
  for (const Target& target : targets) {
    threads.emplace_back([&] {
      for (size_t i = next++; i < all.size(); i = next++) {
        all[i] = Prepare(shapes.convolutions[i / kVariantCount], batch, kVariants[i % kVariantCount], target, build);
      }
    });
  }
  threads.clear();
  return all;
}

double Mebibytes(int64_t bytes) { return Rounded(static_cast<double>(bytes) / (1 << 20)); }

// null if nothing runs.
Value Time(double us) { return us > 0 ? Rounded(us) : std::nan(""); }

void WriteRow(const Table& table, const Prepared& prepared, const std::vector<Best>& best) {
  const Plan* plan = best[0].plan;
  std::vector<Value> row = {prepared.request.shape.Text(),
                            prepared.request.batch,
                            prepared.plans.size(),
                            plan != nullptr ? plan->Name() : prepared.error.substr(0, 80),
                            plan != nullptr ? Mebibytes(plan->workspace_bytes) : 0,
                            Time(best[0].first_us)};
  for (const Best& one : best) row.emplace_back(Time(one.us));
  row.emplace_back(Fingerprint(prepared.plans));
  table.Add(row);
}

// How many results of the best plans in float32 were the same in every run.
struct Repeated {
  int results = 0;
  int bit_equal = 0;
  double error_max = 0;

  void Count(const Best& best) {
    if (best.plan == nullptr || !best.plan->IsFloat32()) return;
    ++results;
    bit_equal += best.is_bit_equal;
    error_max = std::max(error_max, best.error);
  }
};

size_t FreeBytes() {
  size_t free_bytes = 0, total_bytes = 0;
  Check(cudaMemGetInfo(&free_bytes, &total_bytes));
  return free_bytes;
}

using Engines = std::map<int64_t, EngineRecord>[kVariantCount];

// How many plans each engine has in each variant, and what became of these.
void WriteEngines(const Engines& engines, int64_t batch) {
  const Table table("engines at batch " + std::to_string(batch),
                    {"variant", "engine", "plans", "built", "ran", "refused in a capture", "best", "most workspace MiB",
                     "notes", "an error"});
  for (size_t v = 0; v < kVariantCount; ++v) {
    for (const auto& [engine, record] : engines[v]) {
      table.Add({kVariants[v].name, engine, record.plans, record.built, record.ran, record.refused_in_capture,
                 record.best, Mebibytes(record.workspace_bytes_max), record.notes, record.error.substr(0, 160)});
    }
  }
}

// Times all variants of each shape, and writes a row for each shape.
Repeated MeasureShapes(ConvolutionBench& bench, const std::vector<Prepared>& all, Engines& engines) {
  const Table table("convolutions",
                    {"shape", "batch", "float32 plans", "best plan", "workspace MiB", "us of the first plan", "us",
                     "NCHW us", "with bias and relu us", "with bias, residual and relu us", "TF32 us", "bfloat16 us",
                     "fingerprint of float32 plans"});
  Repeated repeated;
  for (size_t i = 0; i < all.size(); i += kVariantCount) {
    Try(all[i].request.shape.Text(), [&] {
      std::vector<Best> best;
      for (size_t v = 0; v < kVariantCount; ++v) {
        best.push_back(bench.Measure(all[i + v], engines[v]));
        repeated.Count(best.back());
      }
      WriteRow(table, all[i], best);
    });
  }
  return repeated;
}

void Measure(const Shapes& shapes, int64_t batch) {
  const double began = NowUs();
  std::vector<Target> targets;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    targets.push_back(Target::CurrentDevice());
  const std::vector<Prepared> all = PrepareAll(shapes, batch, targets, true);
  Fact("plans of all convolutions")
      .With("batch", batch)
      .With("requests", all.size())
      .With("threads", targets.size())
      .With("us", Rounded(NowUs() - began));
  ConvolutionBench bench(shapes, batch);
  const size_t free_before = FreeBytes();
  Engines engines;
  const Repeated repeated = MeasureShapes(bench, all, engines);
  Fact("best plans in float32")
      .With("batch", batch)
      .With("plans", repeated.results)
      .With("with_the_same_bits_in_six_runs", repeated.bit_equal)
      .With("largest_error", Rounded(repeated.error_max))
      .With("device_bytes_of_kernels_and_graphs",
            static_cast<int64_t>(free_before) - static_cast<int64_t>(FreeBytes()));
  WriteEngines(engines, batch);
}

void List(const Shapes& shapes, int64_t batch, const char* path) {
  std::ifstream file(path);
  std::stringstream json;
  json << file.rdbuf();
  std::vector<Target> targets;
  targets.push_back(Target::Described(json.str()));
  const std::vector<Prepared> all = PrepareAll(shapes, batch, targets, false);
  const Table table("plans from a description", {"shape", "batch", "float32 plans", "fingerprint of float32 plans"});
  for (size_t i = 0; i < all.size(); i += kVariantCount) {
    table.Add({all[i].request.shape.Text(), batch, all[i].plans.size(), Fingerprint(all[i].plans)});
  }
}

}  // namespace
}  // namespace longshore::gpu

int main(int argc, char** argv) {
  using namespace longshore::gpu;
  return RunPart([&] {
    if (argc < 3) throw std::runtime_error("usage: convolutions SHAPES BATCH [FILE]");
    const Shapes shapes = ReadShapes(argv[1]);
    const int64_t batch = std::atoi(argv[2]);
    argc > 3 ? List(shapes, batch, argv[3]) : Measure(shapes, batch);
  });
}
