// Counts the runs and refusals of one share of a node, for Load. No threads, no clock: time is an argument.
#pragma once

#include "serving-node/batching/task.h"
#include "serving-node/batching/types.h"

namespace longshore::batching {

// All times may be a little out of order: a time that is earlier than the last one counts as the last one.
class Usage {
 public:
  void Began(const Batch& batch, TimePoint now);
  void Ended(TimePoint now);
  void Refused() { refused_ += 1; }
  // Adds the counters of `other`, whose current runs count until `now`.
  void Add(Usage& other, TimePoint now);
  // Sets the counters of `load`.
  void WriteTo(Load* load) const;

 private:
  void AdvanceTo(TimePoint now);

  int64_t running_ = 0;
  TimePoint counted_to_ = TimePoint::min();
  Duration busy_{0};    // Busy time of all slots together until counted_to_.
  Duration queued_{0};  // Sum of the waiting times of the started requests.
  int64_t started_ = 0;
  int64_t refused_ = 0;
};

}  // namespace longshore::batching
