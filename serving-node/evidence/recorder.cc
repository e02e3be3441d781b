#include "serving-node/evidence/recorder.h"

#include <algorithm>

#include "common/base/buckets.h"

namespace longshore::evidence {

bool IsEvidence(Code code) {
  return code == Code::kOk || code == Code::kInternal || code == Code::kUnknown || code == Code::kDataLoss;
}
void TimeHistogram::Count(Duration time) {
  buckets_[static_cast<size_t>(std::min(TimeBucketOf(time), kBuckets - 1))].fetch_add(1, std::memory_order_relaxed);
  sum_us_.fetch_add(std::max<int64_t>(0, time.count()), std::memory_order_relaxed);
}

void TimeHistogram::CopyTo(google::protobuf::RepeatedField<int64_t>* buckets) const {
  buckets->Clear();
  for (int i = 0; i < kBuckets; ++i) {
    const int64_t count = buckets_[static_cast<size_t>(i)].load(std::memory_order_relaxed);
    if (count == 0) continue;
    while (buckets->size() < i) buckets->Add(0);
    buckets->Add(count);
  }
}

void Counters::CountRequest(Code code) {
  if (!IsEvidence(code)) return;
  requests_.fetch_add(1, std::memory_order_relaxed);
  if (code != Code::kOk) errors_.fetch_add(1, std::memory_order_relaxed);
}

void Counters::CountRunTime(Duration run_time) { run_times_.Count(run_time); }

void Counters::CountNonFinite(TimePoint at) {
  int64_t none = 0;
  first_non_finite_unix_ms_.compare_exchange_strong(none, ToUnixMillis(at), std::memory_order_relaxed);
  non_finite_.fetch_add(1, std::memory_order_relaxed);
}

void Counters::CountPair(const PairDifference& difference) {
  const std::lock_guard lock(mutex_);
  drift_.set_pairs(drift_.pairs() + 1);
  drift_.set_difference_sum(drift_.difference_sum() + difference.relative);
  drift_.set_difference_max(std::max(drift_.difference_max(), difference.relative));
  drift_.set_top1_changed(drift_.top1_changed() + (difference.top1_changed ? 1 : 0));
}

control::Evidence Counters::Snapshot() const {
  control::Evidence evidence;
  // Other counts, such as the errors, count a part of the requests. They are read before the number of requests, so
  // that they never exceed it.
  evidence.set_non_finite(non_finite_.load(std::memory_order_relaxed));
  evidence.set_errors(errors());
  run_times_.CopyTo(evidence.mutable_run_time_buckets());
  evidence.set_run_time_sum_us(static_cast<double>(run_times_.sum().count()));
  evidence.set_requests(requests());
  evidence.set_first_non_finite_unix_ms(first_non_finite_unix_ms_.load(std::memory_order_relaxed));
  const std::lock_guard lock(mutex_);
  *evidence.mutable_drift() = drift_;
  return evidence;
}

std::shared_ptr<Counters> Recorder::For(const std::string& model, int64_t version) {
  const std::lock_guard lock(mutex_);
  const std::pair key(model, version);
  const auto found = versions_.find(key);
  if (found != versions_.end()) return found->second;
  if (versions_.size() >= kVersionsMax)
    std::erase_if(versions_, [](const auto& one) { return one.second.use_count() == 1; });
  if (versions_.size() >= kVersionsMax) return others_;
  return versions_.emplace(key, std::make_shared<Counters>()).first->second;
}

control::Evidence Recorder::Snapshot(const std::string& model, int64_t version) const {
  std::shared_ptr<Counters> counters;
  {
    const std::lock_guard lock(mutex_);
    const auto found = versions_.find({model, version});
    if (found == versions_.end()) return {};
    counters = found->second;
  }
  return counters->Snapshot();
}

std::shared_ptr<TimeHistogram> Recorder::TimesOf(const std::string& model) {
  const std::lock_guard lock(mutex_);
  std::erase_if(times_of_models_, [](const auto& entry) { return entry.second.expired(); });
  auto times = times_of_models_[model].lock();
  if (!times) times_of_models_[model] = times = std::make_shared<TimeHistogram>();
  return times;
}

void Recorder::AddTo(control::NodeLoad* load) const {
  load->set_received(received_.load(std::memory_order_relaxed));
  load->set_forwarded(forwarded_.load(std::memory_order_relaxed));
  total_times_.CopyTo(load->mutable_total_time_buckets());
  const std::lock_guard lock(mutex_);
  for (const auto& [model, held] : times_of_models_) {
    const auto times = held.lock();
    if (!times) continue;
    control::ModelLoad& of_model = *load->add_models();
    of_model.set_served_name(model);
    times->CopyTo(of_model.mutable_total_time_buckets());
  }
}

}  // namespace longshore::evidence
