#include "tests/load/ledger.h"

#include <utility>

namespace longshore::load {
namespace {

constexpr size_t kMessageBytesMax = 160;

int64_t& CountOf(std::map<std::string, int64_t>& counts, const std::string& name) {
  if (counts.size() < kNamesMax || counts.contains(name)) return counts[name];
  return counts["other"];
}

void CountVersion(VersionCounts& counts, bool keyed, bool non_finite, TimePoint now) {
  (keyed ? counts.keyed : counts.unkeyed) += 1;
  if (!counts.first_answer) counts.first_answer = now;
  counts.last_answer = now;
  if (!non_finite) return;
  counts.non_finite += 1;
  if (!counts.first_non_finite) counts.first_non_finite = now;
}

void CountReply(Counts& counts, bool keyed, Duration latency, const Reply& reply, TimePoint now) {
  if (reply.code != Code::kOk) {
    const std::string code(CodeName(reply.code));
    const std::string message = reply.message.substr(0, kMessageBytesMax);
    counts.failed += 1;
    CountOf(counts.failures, code + ": " + message) += 1;
    ErrorCounts& errors = counts.errors[code];
    if (errors.count == 0) errors.first_message = message;
    errors.count += 1;
    return;
  }
  counts.answered += 1;
  counts.latency.Add(latency);
  if (reply.version == 0) counts.without_version += 1;
  if (reply.version_disputed) counts.version_disputed += 1;
  if (!reply.node.empty()) CountOf(counts.nodes, reply.node) += 1;
  CountVersion(counts.versions[reply.version], keyed, reply.non_finite, now);
}

Json MillisOrNull(const std::optional<TimePoint>& at) { return at ? Json(ToUnixMillis(*at)) : Json(); }

Json ToJson(const VersionCounts& counts) {
  return {{"keyed", counts.keyed},
          {"unkeyed", counts.unkeyed},
          {"non_finite", counts.non_finite},
          {"first_answer_unix_ms", MillisOrNull(counts.first_answer)},
          {"last_answer_unix_ms", MillisOrNull(counts.last_answer)},
          {"first_non_finite_unix_ms", MillisOrNull(counts.first_non_finite)}};
}

}  // namespace

Json ToJson(const Counts& counts) {
  Json versions = Json::object();
  for (const auto& [version, its] : counts.versions) versions[std::to_string(version)] = ToJson(its);
  Json errors = Json::object();
  for (const auto& [code, its] : counts.errors) errors[code] = {{"count", its.count}, {"first", its.first_message}};
  return {{"sent", counts.sent},
          {"answered", counts.answered},
          {"failed", counts.failed},
          {"retried", counts.retried},
          {"without_version", counts.without_version},
          {"version_disputed", counts.version_disputed},
          {"answered_twice", counts.answered_twice},
          {"versions", versions},
          {"nodes", counts.nodes},
          {"failures", counts.failures},
          {"errors", errors},
          {"p50_ms", counts.latency.QuantileMs(0.5)},
          {"p99_ms", counts.latency.QuantileMs(0.99)},
          {"p999_ms", counts.latency.QuantileMs(0.999)},
          {"max_ms", counts.latency.MaxMs()},
          {"latency_us", counts.latency.ToJson()}};
}

Json ToJson(const SegmentReport& report) {
  Json json = {{"name", report.name},
               {"began_unix_ms", ToUnixMillis(report.began_at)},
               {"ended_unix_ms", MillisOrNull(report.ended_at)}};
  json.update(ToJson(report.counts));
  return json;
}

Ledger::Ledger(TimePoint now, uint64_t keys) : keys_(keys) {
  segments_.push_back({.report = {.name = "start", .began_at = now, .ended_at = {}, .counts = {}}});
}

void Ledger::Sent(RequestId id, std::optional<KeyIndex> key, TimePoint now) {
  const std::lock_guard lock(mutex_);
  CHECK(!key || *key < keys_.size());
  pending_[id] = {.segment = segments_.size() - 1, .key = key, .sent_at = now};
  Segment& segment = segments_.back();
  segment.in_flight += 1;
  segment.report.counts.sent += 1;
  total_.sent += 1;
  recent_.sent += 1;
}

void Ledger::Retried(RequestId id) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(id);
  CHECK(found != pending_.end());
  segments_[found->second.segment].report.counts.retried += 1;
  total_.retried += 1;
  recent_.retried += 1;
}

void Ledger::Answered(RequestId id, const Reply& reply, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(id);
  if (found == pending_.end()) {
    total_.answered_twice += 1;
    return;
  }
  const Pending request = found->second;
  pending_.erase(found);
  segments_[request.segment].in_flight -= 1;
  CountAll(request, reply, now);
  if (reply.code == Code::kOk && request.key) NoteKey(request, reply.version, now);
}

void Ledger::CountAll(const Pending& request, const Reply& reply, TimePoint now) {
  const Duration latency = now - request.sent_at;
  for (Counts* counts : {&segments_[request.segment].report.counts, &total_, &recent_}) {
    CountReply(*counts, request.key.has_value(), latency, reply, now);
  }
}

void Ledger::NoteKey(const Pending& request, int64_t version, TimePoint now) {
  KeyState& key = keys_[*request.key];
  const bool first = key.version == 0;
  // Overlapping requests of one user have no order, so they cannot show that the user moved to another version.
  if (!first && request.sent_at < key.answered_at) return;
  if (first) distinct_keys_ += 1;
  if (!first && key.version != version && moves_total_ < kMovesMax) {
    moves_.push_back({.sent_at = request.sent_at, .key = *request.key, .from = key.version, .to = version});
    moves_total_ += 1;
  }
  key = {.version = version, .answered_at = now};
}

Status Ledger::Mark(const std::string& name, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (segments_.size() >= kSegmentsMax) return ResourceExhausted("at most {} segments are possible", kSegmentsMax);
  segments_.back().report.ended_at = now;
  segments_.push_back({.report = {.name = name, .began_at = now, .ended_at = {}, .counts = {}}});
  return {};
}

std::vector<SegmentReport> Ledger::TakeFinished() {
  const std::lock_guard lock(mutex_);
  std::vector<SegmentReport> finished;
  for (Segment& segment : segments_) {
    if (!segment.report.ended_at || segment.in_flight > 0) break;
    if (!segment.given_out) finished.push_back(segment.report);
    segment.given_out = true;
  }
  return finished;
}

Counts Ledger::TakeRecent() {
  const std::lock_guard lock(mutex_);
  return std::exchange(recent_, {});
}

std::vector<Move> Ledger::TakeMoves() {
  const std::lock_guard lock(mutex_);
  return std::exchange(moves_, {});
}

Counts Ledger::Total() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

size_t Ledger::in_flight() const {
  const std::lock_guard lock(mutex_);
  return pending_.size();
}

uint64_t Ledger::distinct_keys() const {
  const std::lock_guard lock(mutex_);
  return distinct_keys_;
}

}  // namespace longshore::load
