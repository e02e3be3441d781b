#include "serving-node/frontend/in_flight.h"

namespace longshore::frontend {

InFlight::InFlight(const Limits& limits)
    : limits_(limits), answers_(std::make_shared<http::BytePool>(limits.answer_bytes_max)) {}

InFlight::Slot InFlight::Enter(std::string_view connection) {
  std::string name(connection);
  if (!Take(name)) return nullptr;
  return std::make_shared<Request>(*this, std::move(name));
}

bool InFlight::Take(const std::string& connection) {
  const std::lock_guard lock(mutex_);
  if (taken_ >= limits_.requests_max) return false;
  if (!connection.empty()) {
    size_t& taken = taken_by_connection_[connection];
    if (taken >= limits_.connection_requests_max) return false;
    ++taken;
  }
  ++taken_;
  return true;
}

void InFlight::Release(const std::string& connection) {
  const std::lock_guard lock(mutex_);
  --taken_;
  if (connection.empty()) return;
  const auto taken = taken_by_connection_.find(connection);
  if (--taken->second == 0) taken_by_connection_.erase(taken);
}

Status InFlight::Request::HoldAnswer(size_t bytes) {
  if (answer_.Hold(bytes)) return {};
  return Unavailable("the answers that clients have not read yet exceed {} bytes", in_flight_.limits_.answer_bytes_max);
}

Error NoFreeSlot() { return {Code::kResourceExhausted, "too many requests are in flight on this node"}; }

}  // namespace longshore::frontend
