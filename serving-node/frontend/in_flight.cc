#include "serving-node/frontend/in_flight.h"

namespace longshore::frontend {

InFlight::InFlight(const Limits& limits)
    : limits_(limits), answers_(std::make_shared<http::BytePool>(limits.answer_bytes_max)) {}

Result<InFlight::Slot> InFlight::Enter(std::string_view connection) {
  std::string name(connection);
  RETURN_IF_ERROR(Take(name));
  return std::make_shared<Request>(*this, std::move(name));
}

Status InFlight::Check(std::string_view connection) const {
  const std::string name(connection);
  const std::lock_guard lock(mutex_);
  return CheckLocked(name);
}

Status InFlight::CheckLocked(const std::string& connection) const {
  if (taken_ >= limits_.requests_max) return ResourceExhausted("too many requests are in flight on this node");
  if (connection.empty()) return {};
  const auto taken = taken_by_connection_.find(connection);
  if (taken == taken_by_connection_.end() || taken->second < limits_.connection_requests_max) return {};
  return ResourceExhausted("too many requests are in flight on this connection: the limit is {}",
                           limits_.connection_requests_max);
}

Status InFlight::Take(const std::string& connection) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(CheckLocked(connection));
  if (!connection.empty()) ++taken_by_connection_[connection];
  ++taken_;
  return {};
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

}  // namespace longshore::frontend
