// Chooses which of the queued requests of one kind run together. All requests of a batch are answered when the whole
// batch ends, so a larger batch may make a request miss its deadline. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "serving-node/batching/forecast.h"

namespace longshore::batching {

// The expected run times of batches of one signature, from the runs measured so far. 0: unknown.
class Costs {
 public:
  Costs(const Forecast& forecast, const std::string& signature, const std::vector<int>& allowed_batch_sizes,
        TimePoint now)
      : forecast_(forecast), signature_(signature), allowed_batch_sizes_(allowed_batch_sizes), now_(now) {}

  // Return the minimum and the likely run time of a batch that has `rows` rows and `bytes` bytes of inputs before
  // padding.
  Duration AtLeast(int64_t rows, int64_t bytes) const;
  Duration Likely(int64_t rows, int64_t bytes) const;

 private:
  const Forecast& forecast_;
  const std::string signature_;  // A copy, because the owner may be removed during the lookup.
  const std::vector<int>& allowed_batch_sizes_;
  const TimePoint now_;
};

// The properties of a queued request on which the choice depends.
struct QueuedRequest {
  int64_t rows = 0;
  int64_t bytes = 0;
  Duration left{0};  // Time until its deadline.
};

// Indexes into the `requests` of ChooseBatch. A request in neither list stays in the queue.
struct BatchChoice {
  std::vector<size_t> run;
  std::vector<size_t> too_late;  // Would miss their deadlines even if they ran alone now.
};

// Chooses a batch of at most rows_max rows from `requests`, which are in queue order. `run` is empty only if all
// requests are too late. If the batch of the first requests that fit would make some of them (the urgent ones) miss
// their deadlines, the result depends on `urgent_first`: false runs only the requests that are not urgent; true runs
// the first urgent request with as many others as keep the batch in time. A queue that alternates between both values
// starves neither the urgent requests nor the others, and loses little throughput. Requires: each request has at most
// rows_max rows.
BatchChoice ChooseBatch(std::span<const QueuedRequest> requests, int64_t rows_max, const Costs& costs,
                        bool urgent_first);

}  // namespace longshore::batching
