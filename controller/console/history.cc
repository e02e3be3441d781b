#include "controller/console/history.h"

#include <algorithm>

namespace longshore::console {
namespace {

template <typename Point>
void RemoveOld(TimePoint oldest, std::deque<Point>& points) {
  while (!points.empty() && points.front().at < oldest) points.pop_front();
}

}  // namespace

template <typename Point>
void History::Append(const Point& point, std::deque<Point>& points) {
  if (points.empty()) {
    if (series_ >= limits_.series_max) return;
    ++series_;
  }
  if (points.size() >= limits_.points_max) points.pop_front();
  points.push_back(point);
}

void History::Add(const std::string& model, int64_t version, const TrafficPoint& point) {
  Append(point, models_[model].versions[version]);
}

void History::Add(const std::string& model, int attempt, const EvidencePoint& point) {
  ModelHistory& history = models_[model];
  if (history.attempt != attempt && !history.evidence.empty()) {
    history.evidence.clear();
    --series_;
  }
  history.attempt = attempt;
  history.evidence_is_complete = false;
  Append(point, history.evidence);
}

void History::AddEnd(const std::string& model, int attempt, EvidencePoint point) {
  ModelHistory& history = models_[model];
  if (history.attempt == attempt && history.evidence_is_complete) return;
  // The last sample may be later than the end: it was taken of an earlier status.
  if (history.attempt == attempt && !history.evidence.empty())
    point.at = std::max(point.at, history.evidence.back().at);
  Add(model, attempt, point);
  history.evidence_is_complete = true;
}

void History::Add(const std::string& model, const std::string& rollout, const std::vector<NodePair>& reported) {
  const auto found = models_.find(model);
  if (found == models_.end()) return;
  ModelHistory& history = found->second;
  if (history.rollout != rollout) history.worst_pairs.clear();
  history.rollout = rollout;
  history.worst_pairs = WorstOf(history.worst_pairs, reported);
}

void History::Expire(TimePoint now) {
  const TimePoint oldest = now - kHistoryAge;
  series_ = 0;
  for (auto& [name, model] : models_) {
    for (auto& [version, points] : model.versions) RemoveOld(oldest, points);
    std::erase_if(model.versions, [](const auto& version) { return version.second.empty(); });
    RemoveOld(oldest, model.evidence);
    series_ += model.versions.size() + (model.evidence.empty() ? 0 : 1);
  }
  std::erase_if(models_,
                [](const auto& model) { return model.second.versions.empty() && model.second.evidence.empty(); });
}

ModelHistory History::Of(const std::string& model) const {
  const auto found = models_.find(model);
  return found == models_.end() ? ModelHistory() : found->second;
}

}  // namespace longshore::console
