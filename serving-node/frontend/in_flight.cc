#include "serving-node/frontend/in_flight.h"

namespace longshore::frontend {

InFlight::Place InFlight::Enter() {
  if (taken_.fetch_add(1) >= max_) {
    --taken_;
    return nullptr;
  }
  return {this, [](InFlight* self) { --self->taken_; }};
}

Error NoPlace() { return {Code::kResourceExhausted, "too many requests are under way on this node"}; }

}  // namespace longshore::frontend
