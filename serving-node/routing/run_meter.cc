#include "serving-node/routing/run_meter.h"

#include <chrono>
#include <compare>

#include "serving-node/routing/version_series.h"

namespace longshore::routing {
namespace {

using metrics::Distribution;
using metrics::Exposition;
using metrics::Labels;
using metrics::Name;

// TensorFlow Serving's default name, used if the batching parameters have no thread_pool_name.
constexpr const char* kThreadPool = "batch_threads";

constexpr Name kQueueSeconds{"longshore_queue_seconds",
                             "Time that requests waited before their run, including the time to fill a batch."};
constexpr Name kFillSeconds{"longshore_batch_fill_seconds",
                            "The part of the queue time that was spent filling a batch."};
constexpr Name kRunSeconds{"longshore_run_seconds", "Run times, without waiting."};
constexpr Name kRuntimeLatency{":tensorflow:serving:runtime_latency", "Run time of a request in microseconds."};
constexpr Name kGraphRuns{":tensorflow:core:graph_runs", "Runs; all requests of a batch share one."};
constexpr Name kGraphMicroseconds{":tensorflow:core:graph_run_time_usecs", "Total run time in microseconds."};
constexpr Name kQueuingLatency{":tensorflow:serving:batching_session:queuing_latency",
                               "Microseconds that requests waited for their batch to run."};
constexpr Name kWrappedRuns{":tensorflow:serving:batching_session:wrapped_run_count", "Batches that ran."};
constexpr Name kPaddingSize{":tensorflow:serving:batching_session:padding_size", "Padding rows added to batches."};
constexpr Name kInputSize{":tensorflow:serving:batching_session:input_batch_size", "Rows of batches before padding."};
constexpr Name kProcessedSize{":tensorflow:serving:batching_session:processed_batch_size",
                              "Rows of batches with padding."};

struct Key {
  std::string model;
  int64_t version = kNoVersion;
  std::string signature;
  Api api = Api::kPredict;
  auto operator<=>(const Key&) const = default;
};

struct Runs {
  Distribution queued{metrics::TimeBounds()};
  Distribution filled{metrics::SecondsBounds()};
  Distribution ran{metrics::TimeBounds()};
  std::atomic<int64_t> runs{0};
  std::atomic<int64_t> run_microseconds{0};

  void Add(const Runs& other) {
    queued.Add(other.queued);
    filled.Add(other.filled);
    ran.Add(other.ran);
    runs += other.runs;
    run_microseconds += other.run_microseconds;
  }
};

// The metrics of all batches with the same padded size.
struct Batches {
  Distribution padding{metrics::CountBounds()};
  Distribution rows{metrics::CountBounds()};
  Distribution padded_rows{metrics::CountBounds()};
  Distribution queued{metrics::QueuingBounds()};

  void Add(const Batches&) {}
};

double Microseconds(std::chrono::duration<double, std::micro> time) { return time.count(); }

void Show(const Key& key, const Runs& runs, Exposition* out) {
  const Labels ours = LabelsOf(key);
  out->Observed(kQueueSeconds, ours, InSeconds(runs.queued));
  out->Observed(kFillSeconds, ours, InSeconds(runs.filled));
  out->Observed(kRunSeconds, ours, InSeconds(runs.ran));
  out->Observed(kRuntimeLatency, {{"model_name", key.model}, {"API", NameOf(key.api)}, {"runtime", "TF1"}},
                runs.ran.Read(metrics::ServingBounds()));
  out->Count(kGraphRuns, {}, static_cast<double>(runs.runs));
  out->Count(kGraphMicroseconds, {}, static_cast<double>(runs.run_microseconds));
}

void Show(int64_t size, const Batches& batches, Exposition* out) {
  const std::string label = size == 0 ? "other" : std::to_string(size);
  out->Observed(kQueuingLatency, {{"thread_pool_name", kThreadPool}}, batches.queued.Read(metrics::QueuingBounds()));
  out->Count(kWrappedRuns, {}, static_cast<double>(batches.rows.Read(metrics::CountBounds()).count()));
  out->Observed(kPaddingSize, {{"execution_batch_size", label}}, batches.padding.Read(metrics::CountBounds()));
  out->Observed(kInputSize, {}, batches.rows.Read(metrics::CountBounds()));
  out->Observed(kProcessedSize, {}, batches.padded_rows.Read(metrics::CountBounds()));
}

}  // namespace

struct RunMeter::State {
  metrics::Series<Key, Runs> runs{kSeriesMax, Key{.model = kOtherModels, .signature = kOtherModels}};
  metrics::Series<int64_t, Batches> batches{kBatchSizesMax, 0};
};

RunMeter::RunMeter(metrics::Registry& registry) : state_(std::make_shared<State>()) {
  registry.AddSource([state = state_](Exposition* out) {
    state->runs.ForEach([out](const Key& key, const Runs& runs) { Show(key, runs, out); });
    state->batches.ForEach([out](int64_t size, const Batches& batches) { Show(size, batches, out); });
  });
}

void RunMeter::Record(const Run& run, const batching::RunOutcome& outcome) {
  const bool is_batched = outcome.batch_rows > 0;
  state_->runs.With({run.model, run.version, run.signature, run.api}, [&](Runs& runs) {
    runs.queued.Observe(Microseconds(outcome.queue_time));
    if (is_batched) runs.filled.Observe(Microseconds(outcome.fill_time));
    runs.ran.Observe(Microseconds(outcome.run_time));
    if (!outcome.first_of_batch) return;
    runs.runs.fetch_add(1, std::memory_order_relaxed);
    runs.run_microseconds.fetch_add(std::chrono::duration_cast<std::chrono::microseconds>(outcome.run_time).count(),
                                    std::memory_order_relaxed);
  });
  if (!is_batched) return;
  state_->batches.With(outcome.padded_rows, [&](Batches& batches) {
    batches.queued.Observe(Microseconds(outcome.queue_time));
    if (!outcome.first_of_batch) return;
    batches.padding.Observe(outcome.padded_rows - outcome.batch_rows);
    batches.rows.Observe(outcome.batch_rows);
    batches.padded_rows.Observe(outcome.padded_rows);
  });
}

void RunMeter::ForgetVersion(const std::string& model, int64_t version) {
  routing::ForgetVersion(model, version, &state_->runs);
}

void RunMeter::ForgetModel(const std::string& model) { routing::ForgetModel(model, &state_->runs); }

}  // namespace longshore::routing
