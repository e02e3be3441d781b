#include "serving-node/observe/requestlog/request_log.h"

#include <array>
#include <random>
#include <utility>

#include "common/base/mix.h"
#include "common/binary_proto/binary_proto.h"
#include "serving-node/inference/response.h"
#include "serving-node/tensor/wire.h"
#include "tensorflow_serving/prediction_log.pb.h"

namespace longshore::requestlog {
namespace {

using std::chrono::steady_clock;
using tensorflow::serving::PredictionLog;

constexpr metrics::Name kTotal{"longshore_request_log_total",
                               "Sampled requests by outcome: written, dropped because too many were waiting, failed."};
constexpr metrics::Name kCount{":tensorflow:serving:request_log_count",
                               "Sampled requests by the status code of writing them to the log."};

enum Outcome { kWritten, kDropped, kFailed };
constexpr std::array kOutcomes = {"written", "dropped", "failed"};
constexpr std::array kStatuses = {"OK", "RESOURCE_EXHAUSTED", "UNAVAILABLE"};

Result<std::string> ToRecord(const Pieces& request, const Pieces& response, double sampling_rate) {
  PredictionLog log;
  auto& predict = *log.mutable_predict_log();
  if (!ParseBinaryProto(request, predict.mutable_request())) return DataLoss("the serialized request cannot be parsed");
  if (!ParseBinaryProto(response, predict.mutable_response()))
    return DataLoss("the serialized answer cannot be parsed");
  *log.mutable_log_metadata()->mutable_model_spec() = predict.response().model_spec();
  log.mutable_log_metadata()->mutable_sampling_config()->set_sampling_rate(sampling_rate);
  return log.SerializeAsString();
}

Pieces Serialized(const routing::PredictAnswer& answer) {
  if (!answer.serialized.empty()) return answer.serialized;
  return inference::ResponseOf(answer.model_spec, answer.outputs, tensor::Encoding::kTypedFields);
}

}  // namespace

struct RequestLog::Counts {
  std::mutex mutex;
  std::map<std::string, std::array<int64_t, kOutcomes.size()>> by_model;

  void Add(const std::string& model, Outcome outcome) {
    const std::lock_guard lock(mutex);
    ++by_model[model][outcome];
  }

  void Show(metrics::Exposition* out) {
    const std::lock_guard lock(mutex);
    for (const auto& [model, counts] : by_model) {
      for (size_t i = 0; i < counts.size(); ++i) {
        const auto count = static_cast<double>(counts[i]);
        out->Count(kTotal, {{"model", model}, {"outcome", kOutcomes[i]}}, count);
        if (count > 0) out->Count(kCount, {{"model_name", model}, {"status_code", kStatuses[i]}}, count);
      }
    }
  }
};

// The files of one prefix. Only writer_ uses it.
struct RequestLog::Target {
  RecordFiles files;
  bool failing = false;
  steady_clock::time_point retry_at{};
};

struct RequestLog::Log {
  std::string model;
  Policy policy;
  std::shared_ptr<Target> target;
  const uint64_t seed = std::random_device{}();
  std::atomic<uint64_t> seen{0};
};

RequestLog::RequestLog(Options options, metrics::Registry& registry)
    : options_(std::move(options)), counts_(std::make_shared<Counts>()), writer_(options_.waiting_max) {
  registry.AddSource([counts = counts_](metrics::Exposition* out) { counts->Show(out); });
}

RequestLog::~RequestLog() = default;

void RequestLog::SetPolicies(const Policies& policies) {
  const std::lock_guard lock(mutex_);
  std::map<Path, std::shared_ptr<Target>> targets;
  for (const auto& [model, log] : logs_) targets[log->policy.prefix] = log->target;
  std::map<std::string, std::shared_ptr<Log>> next;
  for (const auto& [model, policy] : policies) {
    if (policy.sampling_rate <= 0) continue;
    const auto known = logs_.find(model);
    if (known != logs_.end() && known->second->policy == policy) {
      next[model] = known->second;
      continue;
    }
    auto& target = targets[policy.prefix];
    if (!target)
      target = std::make_shared<Target>(Target{.files = RecordFiles(policy.prefix, options_.node, options_.files)});
    auto log = std::make_shared<Log>();
    log->model = model;
    log->policy = policy;
    log->target = target;
    next[model] = std::move(log);
  }
  for (const auto& [model, _] : logs_) {
    if (!next.contains(model)) health_.Forget(model);
  }
  logs_ = std::move(next);
  is_on_ = !logs_.empty();
}

std::shared_ptr<RequestLog::Log> RequestLog::Find(const std::string& model) const {
  const std::lock_guard lock(mutex_);
  const auto found = logs_.find(model);
  return found == logs_.end() ? nullptr : found->second;
}

bool RequestLog::Samples(const std::string& model) {
  if (!is_on_.load(std::memory_order_relaxed)) return false;
  const auto log = Find(model);
  if (!log) return false;
  const uint64_t number = log->seen.fetch_add(1, std::memory_order_relaxed);
  return static_cast<double>(Scatter64(log->seed + number)) < log->policy.sampling_rate * 0x1p64;
}

// Without this, the last failed record of a model that gets no more requests would count as a problem forever.
void RequestLog::TryAgain() {
  for (const auto& [model, _] : health_.Problems()) {
    if (const auto log = Find(model)) writer_.Post([this, log] { Report(*log, log->target->files.Try()); });
  }
}

// Ignores a policy that has changed meanwhile. SetPolicies, which forgets the failures of such a policy, waits for the
// same mutex.
void RequestLog::Report(const Log& log, const Status& written) {
  const std::lock_guard lock(mutex_);
  const auto found = logs_.find(log.model);
  if (found != logs_.end() && found->second.get() == &log) health_.Report(written, log.model);
}

void RequestLog::Offer(Pieces request, const routing::PredictAnswer& answer) {
  const auto log = Find(answer.model_spec.name());
  if (!log) return;  // The policy of the model was removed meanwhile.
  if (waiting_bytes_ + request.size() > options_.waiting_bytes_max) return counts_->Add(log->model, kDropped);
  Entry entry{std::move(request), Serialized(answer)};
  const size_t bytes = entry.request.size() + entry.response.size();
  const bool fits = waiting_bytes_.fetch_add(bytes) + bytes <= options_.waiting_bytes_max;
  const bool posted = fits && writer_.Post([this, log, bytes, entry = std::move(entry)] {
    Write(*log, entry);
    waiting_bytes_.fetch_sub(bytes);
  });
  if (posted) return;
  waiting_bytes_.fetch_sub(bytes);
  counts_->Add(log->model, kDropped);
}

void RequestLog::Write(const Log& log, const Entry& entry) {
  Target& target = *log.target;
  if (target.failing && steady_clock::now() < target.retry_at) return counts_->Add(log.model, kFailed);
  const auto record = ToRecord(entry.request, entry.response, log.policy.sampling_rate);
  if (!record) return counts_->Add(log.model, kFailed);  // This says nothing about the disk.
  const Status written = target.files.Append(*record);
  counts_->Add(log.model, written ? kWritten : kFailed);
  target.failing = !written;
  if (target.failing) target.retry_at = steady_clock::now() + options_.pause_on_error;
  Report(log, written);
}

}  // namespace longshore::requestlog
