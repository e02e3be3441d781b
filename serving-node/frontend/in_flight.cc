#include "serving-node/frontend/in_flight.h"

namespace longshore::frontend {
namespace {

Error TooMany() { return {Code::kResourceExhausted, "too many requests are in flight on this node"}; }

}  // namespace

InFlight::InFlight(const Limits& limits)
    : limits_(limits), answers_(std::make_shared<http::BytePool>(limits.answer_bytes_max)) {}

// Several threads may take their slots first and then find that there are too many: then fewer than the limit are
// admitted for a moment, never more.
Result<InFlight::Slot> InFlight::Enter() {
  RETURN_IF_ERROR(Check());
  auto slot = std::make_shared<Request>(*this);
  if (taken_ > limits_.requests_max) return tl::make_unexpected(TooMany());
  return slot;
}

Status InFlight::Check() const {
  return taken_ < limits_.requests_max ? Status() : Status(tl::make_unexpected(TooMany()));
}

Status InFlight::Request::HoldAnswer(size_t bytes) {
  if (answer_.Hold(bytes)) return {};
  return Unavailable("the answers that clients have not read yet exceed {} bytes", in_flight_.limits_.answer_bytes_max);
}

}  // namespace longshore::frontend
