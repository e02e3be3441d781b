#include "serving-node/evidence/recorder.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/base/buckets.h"
#include "common/base/text.h"

namespace longshore::evidence {

bool IsEvidence(Code code) {
  return code == Code::kOk || code == Code::kInternal || code == Code::kUnknown || code == Code::kDataLoss;
}

bool IsTooBusy(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kResourceExhausted ||
         code == Code::kCancelled;
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

RunTimes::~RunTimes() {
  for (auto& times : of_size_) delete times.load(std::memory_order_relaxed);
}

void RunTimes::Count(Duration time, int rows) {
  const size_t size = rows <= 0 ? 0 : 1 + static_cast<size_t>(std::bit_width(static_cast<unsigned>(rows) - 1));
  std::atomic<TimeHistogram*>& times = of_size_[std::min(size, kSizes - 1)];
  TimeHistogram* known = times.load(std::memory_order_acquire);
  if (known == nullptr) {
    auto made = std::make_unique<TimeHistogram>();
    if (times.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) known = made.release();
  }
  known->Count(time);
}

void RunTimes::CopyTo(control::Evidence* evidence) const {
  auto& sum = *evidence->mutable_run_time_buckets();
  Duration sum_of_times{0};
  for (size_t size = 0; size < kSizes; ++size) {
    const TimeHistogram* times = of_size_[size].load(std::memory_order_acquire);
    if (times == nullptr) continue;
    control::RunTimesOfRows& of_rows = *evidence->add_run_times_of_rows();
    of_rows.set_rows(size == 0 ? 0 : 1 << (size - 1));
    times->CopyTo(of_rows.mutable_buckets());
    sum_of_times += times->sum();
    while (sum.size() < of_rows.buckets_size()) sum.Add(0);
    for (int i = 0; i < of_rows.buckets_size(); ++i) sum.Set(i, sum[i] + of_rows.buckets(i));
  }
  evidence->set_run_time_sum_us(static_cast<double>(sum_of_times.count()));
}

void Counters::CountRequest(Code code) {
  if (!IsEvidence(code)) return;
  requests_.fetch_add(1, std::memory_order_relaxed);
  if (code != Code::kOk) errors_.fetch_add(1, std::memory_order_relaxed);
}

void Counters::CountNonFinite(TimePoint at) {
  int64_t none = 0;
  first_non_finite_unix_ms_.compare_exchange_strong(none, ToUnixMillis(at), std::memory_order_relaxed);
  non_finite_.fetch_add(1, std::memory_order_relaxed);
}

void Counters::CountPair(const PairOutcome& outcome) {
  const std::lock_guard lock(mutex_);
  pairs_.set_pairs(pairs_.pairs() + 1);
  switch (outcome.kind) {
    case PairOutcome::Kind::kCandidateFailed: return pairs_.set_candidate_failed(pairs_.candidate_failed() + 1);
    case PairOutcome::Kind::kStableFailed: return pairs_.set_stable_failed(pairs_.stable_failed() + 1);
    case PairOutcome::Kind::kBothFailed: return pairs_.set_both_failed(pairs_.both_failed() + 1);
    case PairOutcome::Kind::kBothAnswered: break;
  }
  auto& ratios = *pairs_.mutable_ratio_buckets();
  const int bucket = RatioBucketOf(std::log2(outcome.ratio));
  while (ratios.size() <= bucket) ratios.Add(0);
  ratios.Set(bucket, ratios[bucket] + 1);
  CountDrift(outcome.difference);
  CountOutputs(outcome);
}

// Answers without floats have no drift. If they counted as 0, strings that all differ would seem equal.
void Counters::CountDrift(const PairDifference& difference) {
  if (!difference.is_measured) return;
  drift_.set_pairs(drift_.pairs() + 1);
  drift_.set_difference_sum(drift_.difference_sum() + difference.relative);
  drift_.set_difference_max(std::max(drift_.difference_max(), difference.relative));
  drift_.set_top1_changed(drift_.top1_changed() + (difference.top1_changed ? 1 : 0));
}

void Counters::CountOutputs(const PairOutcome& outcome) {
  if (!outcome.mismatch.empty()) {
    pairs_.set_mismatched(pairs_.mismatched() + 1);
    if (pairs_.mismatch().empty()) pairs_.set_mismatch(CutText(outcome.mismatch, kMismatchBytesMax));
  }
  rules_.clear();
  for (const OutputOutcome& output : outcome.outputs) rules_.push_back(output.rule);
  if (outputs_.size() + rules_.size() > kRulesMax)
    std::erase_if(outputs_, [this](const auto& one) { return std::ranges::find(rules_, one.first) == rules_.end(); });
  for (const OutputOutcome& output : outcome.outputs) {
    control::OutputEvidence& counts = outputs_[output.rule];
    counts.set_rule(output.rule);
    counts.set_pairs(counts.pairs() + (output.counted ? 1 : 0));
    counts.set_differs(counts.differs() + (output.only_candidate_differs() ? 1 : 0));
    counts.set_noise(counts.noise() + (output.noise && !output.differs ? 1 : 0));
    counts.set_both(counts.both() + (output.noise && output.differs ? 1 : 0));
  }
}

void Counters::CountDropped(PairDrop why) {
  const std::lock_guard lock(mutex_);
  switch (why) {
    case PairDrop::kBusy: return pairs_.set_dropped_busy(pairs_.dropped_busy() + 1);
    case PairDrop::kBudget: return pairs_.set_dropped_budget(pairs_.dropped_budget() + 1);
    case PairDrop::kQueue: return pairs_.set_dropped_queue(pairs_.dropped_queue() + 1);
  }
}

void Counters::NoteDifferent(const std::string& salt, control::WorstPair pair) {
  const std::lock_guard lock(mutex_);
  worst_.Add(salt, std::move(pair));
}

bool Counters::WantsDifferent(const std::string& salt, const control::WorstPair& pair) const {
  const std::lock_guard lock(mutex_);
  return worst_.Wants(salt, pair);
}

std::shared_ptr<Bins> Counters::BinsOf(const std::string& salt) {
  const std::lock_guard lock(mutex_);
  if (salt.empty()) {
    bins_.reset();
  } else if (!bins_ || bins_->salt() != salt) {
    bins_ = std::make_shared<Bins>(salt);
  }
  return bins_;
}

int64_t Counters::pairs() const {
  const std::lock_guard lock(mutex_);
  return pairs_.pairs();
}

control::Evidence Counters::Snapshot() const {
  control::Evidence evidence;
  // Other counts, such as the errors, count a part of the requests. They are read before the number of requests, so
  // that they never exceed it.
  evidence.set_non_finite(non_finite_.load(std::memory_order_relaxed));
  evidence.set_errors(errors());
  evidence.set_overloaded(overloaded_.load(std::memory_order_relaxed));
  run_times_.CopyTo(&evidence);
  evidence.set_requests(requests());
  evidence.set_first_non_finite_unix_ms(first_non_finite_unix_ms_.load(std::memory_order_relaxed));
  const std::lock_guard lock(mutex_);
  *evidence.mutable_drift() = drift_;
  *evidence.mutable_pairs() = pairs_;
  for (const std::string& rule : rules_) *evidence.mutable_pairs()->add_outputs() = outputs_.at(rule);
  worst_.CopyTo(evidence.mutable_pairs());
  if (bins_) bins_->CopyTo(evidence.mutable_bins());
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
