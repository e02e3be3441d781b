#include "serving-node/batching/batch_choice.h"

#include <algorithm>
#include <numeric>

#include "serving-node/batching/rows.h"

namespace longshore::batching {
namespace {

// Requests that would run together as one batch.
class Selection {
 public:
  Selection(std::span<const QueuedRequest> requests, int64_t rows_max, const Costs& costs)
      : requests_(requests), rows_max_(rows_max), costs_(&costs) {}

  bool Fits(size_t at) const { return indexes_.empty() || rows_ + requests_[at].rows <= rows_max_; }
  // Whether the request fits and all requests, including this one, would still be in time.
  bool KeepsInTime(size_t at) const {
    if (!Fits(at)) return false;
    const QueuedRequest& request = requests_[at];
    return costs_->Likely(rows_ + request.rows, bytes_ + request.bytes) < std::min(left_, request.left);
  }
  void Add(size_t at) {
    rows_ += requests_[at].rows;
    bytes_ += requests_[at].bytes;
    left_ = std::min(left_, requests_[at].left);
    indexes_.push_back(at);
  }

  Duration cost() const { return costs_->Likely(rows_, bytes_); }
  bool in_time() const { return cost() < left_; }
  const std::vector<size_t>& indexes() const { return indexes_; }

 private:
  std::span<const QueuedRequest> requests_;
  int64_t rows_max_;
  const Costs* costs_;
  std::vector<size_t> indexes_;
  int64_t rows_ = 0;
  int64_t bytes_ = 0;
  Duration left_ = Duration::max();
};

Selection FirstThatFit(std::span<const QueuedRequest> requests, const std::vector<size_t>& indexes, int64_t rows_max,
                       const Costs& costs) {
  Selection selection(requests, rows_max, costs);
  for (const size_t at : indexes) {
    if (!selection.Fits(at)) break;
    selection.Add(at);
  }
  return selection;
}

}  // namespace

Duration Costs::AtLeast(int64_t rows, int64_t bytes) const {
  return forecast_.AtLeast(signature_, PaddedBytes(rows, bytes, allowed_batch_sizes_), now_);
}

Duration Costs::Likely(int64_t rows, int64_t bytes) const {
  return forecast_.Likely(signature_, PaddedBytes(rows, bytes, allowed_batch_sizes_), now_);
}

BatchChoice ChooseBatch(std::span<const QueuedRequest> requests, int64_t rows_max, const Costs& costs,
                        bool urgent_first) {
  BatchChoice choice;
  std::vector<size_t> candidates(requests.size());
  std::iota(candidates.begin(), candidates.end(), size_t{0});
  Selection all = FirstThatFit(requests, candidates, rows_max, costs);
  if (!all.in_time()) {
    // A request that is in time within this batch is also in time alone, so it cannot be too late.
    std::erase_if(candidates, [&, cost = all.cost()](size_t at) {
      const QueuedRequest& request = requests[at];
      if (request.left > cost || request.left > costs.AtLeast(request.rows, request.bytes)) return false;
      choice.too_late.push_back(at);
      return true;
    });
    all = FirstThatFit(requests, candidates, rows_max, costs);
  }
  choice.run = all.indexes();
  if (all.indexes().size() <= 1 || all.in_time()) return choice;
  const Duration cost = all.cost();
  const auto is_urgent = [&](size_t at) { return requests[at].left <= cost; };
  Selection patient(requests, rows_max, costs), quick(requests, rows_max, costs);
  for (const size_t at : candidates) {
    if (!is_urgent(at) && patient.Fits(at)) patient.Add(at);
  }
  if (!urgent_first && !patient.indexes().empty()) {
    choice.run = patient.indexes();
    return choice;
  }
  quick.Add(*std::ranges::find_if(all.indexes(), is_urgent));
  for (const size_t at : candidates) {
    if (at != quick.indexes().front() && quick.KeepsInTime(at)) quick.Add(at);
  }
  choice.run = quick.indexes();
  return choice;
}

}  // namespace longshore::batching
