// Which of the requests that may run together do: a batch takes as long as all of it, and each has a deadline. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "serving-node/batching/forecast.h"

namespace longshore::batching {

// What runs of one signature cost, as far as it is known now.
class Costs {
 public:
  Costs(const Forecast& forecast, const std::string& signature, const std::vector<int>& allowed_batch_sizes,
        TimePoint now)
      : forecast_(forecast), signature_(signature), allowed_batch_sizes_(allowed_batch_sizes), now_(now) {}

  // Of a batch of so many rows that have so many bytes, padded.
  Duration AtLeast(int64_t rows, int64_t bytes) const;
  Duration Likely(int64_t rows, int64_t bytes) const;

 private:
  const Forecast& forecast_;
  const std::string signature_;  // A copy: who has it may leave while it is asked.
  const std::vector<int>& allowed_batch_sizes_;
  const TimePoint now_;
};

struct Guest {
  int64_t rows = 0;
  int64_t bytes = 0;
  Duration left{0};  // Until its deadline.
};

// Places in what was chosen from. Who is in neither waits on.
struct Company {
  std::vector<size_t> run;
  std::vector<size_t> hopeless;  // They would be too late if they ran alone and at once.
};

// Of guests in the order of their turns, at most rows_max rows; nobody runs only if all are hopeless. Where not all of
// the first who fit can bear what their batch takes, either those run who can, or, with `cut`, as many as still let the
// first of the others be in time. A queue that takes now this, now that refuses nobody for ever because of others, and
// loses little to those who are in a hurry. Requires: each has at most rows_max rows.
Company Choose(std::span<const Guest> guests, int64_t rows_max, const Costs& costs, bool cut);

}  // namespace longshore::batching
