// How many predictions may be under way at once: an overloaded node that refuses the others before it looks at them
// recovers soon.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "common/error.h"

namespace longshore::frontend {

// Thread-safe. Outlives the places that it gives.
class InFlight {
 public:
  explicit InFlight(size_t max) : max_(max) {}

  // A place, which is free again when the last copy of it is gone. Null: all are taken.
  using Place = std::shared_ptr<InFlight>;
  Place Enter();

 private:
  const size_t max_;
  std::atomic<size_t> taken_ = 0;
};

// What a request is told that finds no place: it may succeed a little later.
Error NoPlace();

// Whether the same request may succeed a little later, at this node or another, judged by its code: nobody could take
// it.
inline bool MayRetry(const Error& error) { return error.code == Code::kUnavailable; }

}  // namespace longshore::frontend
