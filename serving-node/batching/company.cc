#include "serving-node/batching/company.h"

#include <algorithm>
#include <numeric>

#include "serving-node/batching/rows.h"

namespace longshore::batching {
namespace {

// Guests who would run together.
class Table {
 public:
  Table(std::span<const Guest> guests, int64_t rows_max, const Costs& costs)
      : guests_(guests), rows_max_(rows_max), costs_(&costs) {}

  bool Fits(size_t at) const { return places_.empty() || rows_ + guests_[at].rows <= rows_max_; }
  // Whether it would fit and everybody were in time.
  bool Bears(size_t at) const {
    if (!Fits(at)) return false;
    const Guest& guest = guests_[at];
    return costs_->Likely(rows_ + guest.rows, bytes_ + guest.bytes) < std::min(left_, guest.left);
  }
  void Add(size_t at) {
    rows_ += guests_[at].rows;
    bytes_ += guests_[at].bytes;
    left_ = std::min(left_, guests_[at].left);
    places_.push_back(at);
  }

  Duration cost() const { return costs_->Likely(rows_, bytes_); }
  bool in_time() const { return cost() < left_; }
  const std::vector<size_t>& places() const { return places_; }

 private:
  std::span<const Guest> guests_;
  int64_t rows_max_;
  const Costs* costs_;
  std::vector<size_t> places_;
  int64_t rows_ = 0;
  int64_t bytes_ = 0;
  Duration left_ = Duration::max();
};

Table FirstWhoFit(std::span<const Guest> guests, const std::vector<size_t>& places, int64_t rows_max,
                  const Costs& costs) {
  Table table(guests, rows_max, costs);
  for (const size_t at : places) {
    if (!table.Fits(at)) break;
    table.Add(at);
  }
  return table;
}

}  // namespace

Duration Costs::AtLeast(int64_t rows, int64_t bytes) const {
  return forecast_.AtLeast(signature_, PaddedBytes(rows, bytes, allowed_batch_sizes_), now_);
}

Duration Costs::Likely(int64_t rows, int64_t bytes) const {
  return forecast_.Likely(signature_, PaddedBytes(rows, bytes, allowed_batch_sizes_), now_);
}

Company Choose(std::span<const Guest> guests, int64_t rows_max, const Costs& costs, bool cut) {
  Company company;
  std::vector<size_t> hopeful(guests.size());
  std::iota(hopeful.begin(), hopeful.end(), size_t{0});
  Table all = FirstWhoFit(guests, hopeful, rows_max, costs);
  if (!all.in_time()) {
    // Who would be in time with all of these would be alone, too.
    std::erase_if(hopeful, [&, cost = all.cost()](size_t at) {
      const Guest& guest = guests[at];
      if (guest.left > cost || guest.left > costs.AtLeast(guest.rows, guest.bytes)) return false;
      company.hopeless.push_back(at);
      return true;
    });
    all = FirstWhoFit(guests, hopeful, rows_max, costs);
  }
  company.run = all.places();
  if (all.places().size() <= 1 || all.in_time()) return company;
  const Duration cost = all.cost();
  const auto in_a_hurry = [&](size_t at) { return guests[at].left <= cost; };
  Table patient(guests, rows_max, costs), quick(guests, rows_max, costs);
  for (const size_t at : hopeful) {
    if (!in_a_hurry(at) && patient.Fits(at)) patient.Add(at);
  }
  if (!cut && !patient.places().empty()) {
    company.run = patient.places();
    return company;
  }
  quick.Add(*std::ranges::find_if(all.places(), in_a_hurry));
  for (const size_t at : hopeful) {
    if (at != quick.places().front() && quick.Bears(at)) quick.Add(at);
  }
  company.run = quick.places();
  return company;
}

}  // namespace longshore::batching
