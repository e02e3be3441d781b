#include "serving-node/frontend/in_flight.h"

namespace longshore::frontend {

InFlight::Place InFlight::Enter() {
  size_t taken = taken_;
  do {
    if (taken >= max_) return nullptr;
  } while (!taken_.compare_exchange_weak(taken, taken + 1));
  return {this, [](InFlight* self) { --self->taken_; }};
}

Error NoPlace() { return {Code::kResourceExhausted, "too many requests are under way on this node"}; }

}  // namespace longshore::frontend
