#include "serving-node/frontend/in_flight.h"

namespace longshore::frontend {

InFlight::InFlight(size_t requests_max, size_t answer_bytes_max)
    : requests_max_(requests_max),
      answer_bytes_max_(answer_bytes_max),
      answers_(std::make_shared<http::BytePool>(answer_bytes_max)) {}

InFlight::Slot InFlight::Enter() {
  size_t taken = taken_;
  do {
    if (taken >= requests_max_) return nullptr;
  } while (!taken_.compare_exchange_weak(taken, taken + 1));
  return std::make_shared<Request>(*this);
}

Status InFlight::Request::HoldAnswer(size_t bytes) {
  if (answer_.Hold(bytes)) return {};
  return Unavailable("the answers that clients have not read yet exceed {} bytes", in_flight_.answer_bytes_max_);
}

Error NoFreeSlot() { return {Code::kResourceExhausted, "too many requests are in flight on this node"}; }

}  // namespace longshore::frontend
