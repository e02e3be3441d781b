#include "serving-node/frontend/in_flight.h"

namespace longshore::frontend {

InFlight::InFlight(const Limits& limits)
    : limits_(limits), answers_(std::make_shared<http::BytePool>(limits.answer_bytes_max)) {}

Result<InFlight::Slot> InFlight::Enter(const std::string& connection) {
  ASSIGN_OR_RETURN(Taken::value_type* const taken, Take(connection));
  return std::make_shared<Request>(*this, taken);
}

Status InFlight::Check(const std::string& connection) const {
  const std::lock_guard lock(mutex_);
  const auto taken = taken_by_connection_.find(connection);
  return CheckLocked(taken == taken_by_connection_.end() ? 0 : taken->second);
}

Status InFlight::CheckLocked(size_t taken_by_connection) const {
  if (taken_ >= limits_.requests_max) return ResourceExhausted("too many requests are in flight on this node");
  if (taken_by_connection < limits_.connection_requests_max) return {};
  return ResourceExhausted("too many requests are in flight on this connection: the limit is {}",
                           limits_.connection_requests_max);
}

// Returns the entry of the connection, which exists until its last slot is released; null for "".
Result<InFlight::Taken::value_type*> InFlight::Take(const std::string& connection) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(CheckLocked(0));
  Taken::value_type* entry = nullptr;
  if (!connection.empty()) {
    entry = &*taken_by_connection_.try_emplace(connection, 0).first;
    RETURN_IF_ERROR(CheckLocked(entry->second));
    ++entry->second;
  }
  ++taken_;
  return entry;
}

void InFlight::Release(Taken::value_type* connection) {
  const std::lock_guard lock(mutex_);
  --taken_;
  if (connection != nullptr && --connection->second == 0) {
    taken_by_connection_.erase(taken_by_connection_.find(connection->first));
  }
}

Status InFlight::Request::HoldAnswer(size_t bytes) {
  if (answer_.Hold(bytes)) return {};
  return Unavailable("the answers that clients have not read yet exceed {} bytes", in_flight_.limits_.answer_bytes_max);
}

}  // namespace longshore::frontend
