#include "tests/gpu/convolution_runs.h"

#include <algorithm>
#include <exception>

#include "tests/gpu/reference.h"

namespace longshore::gpu {
namespace {

constexpr int64_t kWorkspaceBytesMax = 1 << 30;
constexpr int kRoughSamples = 5;
constexpr int kSamples = 50;
constexpr int kComparedRuns = 5;
constexpr double kHopeless = 4;  // A plan that takes this many times as long as the best is not timed again.

std::string NotesOf(const Plan& plan) {
  static constexpr const char* kNumerical[] = {"tensor cores",      "narrower inputs", "narrower sums", "FFT",
                                               "not deterministic", "Winograd",        "Winograd 4x4",  "Winograd 6x6",
                                               "Winograd 13x13",    "strict NaN"};
  static constexpr const char* kBehavior[] = {"compiled at run time", "int8 filter", "int8 bias", "native CUDA graph",
                                              "uses cuBLASLt"};
  std::string notes;
  const auto add = [&](std::string_view note) { notes += (notes.empty() ? "" : ", ") + std::string(note); };
  for (const int note : plan.numerical_notes) add(note < 10 ? kNumerical[note] : "unknown");
  for (const int note : plan.behavior_notes) add(note < 5 ? kBehavior[note] : "unknown");
  return notes;
}

void AddTo(EngineRecord& record, const Plan& plan) {
  ++record.plans;
  if (plan.executable != nullptr) ++record.built;
  record.workspace_bytes_max = std::max(record.workspace_bytes_max, plan.workspace_bytes);
  if (record.notes.empty()) record.notes = NotesOf(plan);
  if (!plan.why_not.empty()) record.error = plan.why_not;
}

}  // namespace

ConvolutionBench::ConvolutionBench(const Shapes& shapes, int64_t batch)
    : target_(Target::CurrentDevice()), stream_(MakeStream()) {
  int64_t inputs = 0, filters = 0, outputs = 0, channels = 0;
  for (const Convolution& shape : shapes.convolutions) {
    inputs = std::max(inputs, shape.InputCount(batch));
    filters = std::max(filters, shape.FilterCount());
    outputs = std::max(outputs, shape.OutputCount(batch));
    channels = std::max(channels, shape.filters);
  }
  const auto filled = [&](int64_t count, uint32_t seed) {
    DeviceMemory memory = MakeDeviceMemory(static_cast<size_t>(count) * sizeof(float));
    FillFloats(static_cast<float*>(memory.get()), static_cast<size_t>(count), seed, stream_.get());
    return memory;
  };
  input_ = filled(inputs, 1);
  filter_ = filled(filters, 2);
  bias_ = filled(channels, 3);
  residual_ = filled(outputs, 6);
  const auto filled_narrow = [&](int64_t count, uint32_t seed) {
    DeviceMemory memory = MakeDeviceMemory(static_cast<size_t>(count) * 2);
    FillBfloat16s(memory.get(), static_cast<size_t>(count), seed, stream_.get());
    return memory;
  };
  bfloat16_input_ = filled_narrow(inputs, 4);
  bfloat16_filter_ = filled_narrow(filters, 5);
  output_bytes_ = static_cast<size_t>(outputs) * sizeof(float);
  output_ = MakeDeviceMemory(output_bytes_);
  second_output_ = MakeDeviceMemory(output_bytes_);
  workspace_ = MakeDeviceMemory(kWorkspaceBytesMax);
  CheckDnn(cudnnSetStream(target_.handle(), stream_.get()));
}

Arguments ConvolutionBench::ArgumentsFor(const Prepared& prepared, bool second_output) const {
  const bool is_narrow = prepared.request.type == CUDNN_DATA_BFLOAT16;
  return {.input = is_narrow ? bfloat16_input_.get() : input_.get(),
          .filter = is_narrow ? bfloat16_filter_.get() : filter_.get(),
          .bias = prepared.request.fusion != Fusion::kNone ? bias_.get() : nullptr,
          .residual = prepared.request.fusion == Fusion::kBiasResidualRelu ? residual_.get() : nullptr,
          .output = second_output ? second_output_.get() : output_.get(),
          .workspace = workspace_.get()};
}

void ConvolutionBench::Execute(const Plan& plan, const Descriptor& pack) const {
  CheckDnn(cudnnBackendExecute(target_.handle(), plan.executable->raw(), pack.raw()));
}

double ConvolutionBench::RoughUs(const Plan& plan, const Descriptor& pack, double best_us, EngineRecord& record) {
  if (plan.executable == nullptr) return 0;
  if (plan.workspace_bytes > kWorkspaceBytesMax) {
    record.error = "not executed: its workspace is larger than 1 GiB";
    return 0;
  }
  const auto work = [&] { Execute(plan, pack); };
  double us = 0;
  try {
    work();  // Loads the kernels.
    us = DeviceTimes(stream_.get(), 1, work)[0];
    ++record.ran;
  } catch (const std::exception& error) {
    record.error = error.what();
    cudaGetLastError();
    return 0;
  }
  if (best_us > 0 && us > kHopeless * best_us + 100) return us;
  try {
    return Quantile(GraphTimes(stream_.get(), RepeatsFor(us), kRoughSamples, work), 0.5);
  } catch (const std::exception& error) {
    ++record.refused_in_capture;
    record.error = error.what();
    return Quantile(DeviceTimes(stream_.get(), kRoughSamples, work), 0.5);
  }
}

Best ConvolutionBench::Measure(const Prepared& prepared, std::map<int64_t, EngineRecord>& engines) {
  Best best;
  const Descriptor pack = Bind(ArgumentsFor(prepared, false));
  for (const Plan& plan : prepared.plans) {
    EngineRecord& record = engines[plan.engine];
    AddTo(record, plan);
    const double us = RoughUs(plan, pack, best.us, record);
    if (us == 0) continue;
    if (best.plan == nullptr) best.first_us = us;
    if (best.plan != nullptr && us >= best.us) continue;
    best.us = us;
    best.plan = &plan;
  }
  if (best.plan == nullptr) return best;
  ++engines[best.plan->engine].best;
  const auto work = [&] { Execute(*best.plan, pack); };
  best.us = Quantile(GraphTimes(stream_.get(), RepeatsFor(best.us), kSamples, work), 0.5);
  CheckResults(prepared, best);
  return best;
}

void ConvolutionBench::CheckResults(const Prepared& prepared, Best& best) {
  if (prepared.request.type != CUDNN_DATA_FLOAT) return;
  const auto words = static_cast<size_t>(prepared.request.shape.OutputCount(prepared.request.batch));
  const auto poison = [&](void* output) { Check(cudaMemsetAsync(output, 0xff, words * sizeof(float), stream_.get())); };
  poison(output_.get());
  Execute(*best.plan, Bind(ArgumentsFor(prepared, false)));
  const Descriptor second = Bind(ArgumentsFor(prepared, true));
  best.is_bit_equal = true;
  for (int run = 0; run < kComparedRuns; ++run) {
    poison(second_output_.get());
    Execute(*best.plan, second);
    best.is_bit_equal &= CountDifferences(output_.get(), second_output_.get(), words, stream_.get()) == 0;
  }
  best.error = ConvolutionError(prepared.request, ArgumentsFor(prepared, false), stream_.get());
}

}  // namespace longshore::gpu
