#include "serving-node/routing/guard.h"

#include <algorithm>
#include <set>

#include "common/json/json.h"
#include "common/os/file.h"
#include "common/os/json_file.h"
#include "common/os/log.h"

namespace longshore::routing {
namespace {

Json ToJson(const Trip& trip) {
  return {{"model", trip.key.model}, {"version", trip.key.version}, {"salt", trip.key.salt},
          {"reason", trip.reason},   {"message", trip.message},     {"at_unix_ms", ToUnixMillis(trip.at)}};
}

Trip FromJson(const Json& entry) {
  return {
      {entry.at("model").get<std::string>(), entry.at("version").get<int64_t>(), entry.at("salt").get<std::string>()},
      entry.at("reason").get<std::string>(),
      entry.at("message").get<std::string>(),
      FromUnixMillis(entry.at("at_unix_ms").get<int64_t>())};
}

}  // namespace

std::string ErrorsTrip(const control::Guard& guard, const ErrorWindow::Seen& seen) {
  const int64_t requests_min = std::clamp<int64_t>(guard.errors_min_requests(), 1, ErrorWindow::kRequests);
  if (guard.error_rate_max() <= 0 || seen.requests < requests_min) return "";
  const double rate = static_cast<double>(seen.errors) / static_cast<double>(seen.requests);
  if (rate <= guard.error_rate_max()) return "";
  return fmt::format("{} of the last {} requests failed, more than {:.2f} %", seen.errors, seen.requests,
                     100 * guard.error_rate_max());
}

Result<std::unique_ptr<GuardBook>> GuardBook::Open(const Path& state_dir) {
  std::unique_ptr<GuardBook> book(new GuardBook(state_dir.empty() ? Path() : state_dir / "guards.json"));
  if (!book->file_.empty()) RETURN_IF_ERROR(book->Read());
  return book;
}

Status GuardBook::Read() {
  ASSIGN_OR_RETURN(const auto json, ReadJsonFile(file_));
  if (!json) return {};
  try {
    for (const Json& entry : *json) trips_.push_back(FromJson(entry));
  } catch (const Json::exception& e) {
    return DataLoss("{}: {}", file_.string(), e.what());
  }
  for (const Trip& trip : trips_) {
    auto guard = std::make_shared<GuardState>(trip.key);
    guard->tripped_ = true;
    guards_[trip.key] = std::move(guard);
  }
  return {};
}

void GuardBook::WriteSoon() {
  if (file_.empty() || write_waits_) return;
  write_waits_ = writer_.Post([this] { Write(); });
}

void GuardBook::Write() {
  Json json = Json::array();
  {
    const std::lock_guard lock(mutex_);
    write_waits_ = false;
    for (const Trip& trip : trips_) json.push_back(ToJson(trip));
  }
  health_.Report(WriteFileAtomically(file_, json.dump(1)));
}

void GuardBook::WriteAgain() {
  const std::lock_guard lock(mutex_);
  WriteSoon();
}

std::shared_ptr<GuardState> GuardBook::For(const GuardKey& key) {
  const std::lock_guard lock(mutex_);
  auto& guard = guards_[key];
  if (!guard) guard = std::make_shared<GuardState>(key);
  return guard;
}

bool GuardBook::TripNow(GuardState& guard, std::string reason, std::string message, TimePoint at) {
  if (guard.tripped_.exchange(true, std::memory_order_acq_rel)) return false;
  const Trip trip{guard.key(), std::move(reason), std::move(message), at};
  spdlog::warn("model \"{}\" version {}: guard {} tripped: {}", trip.key.model, trip.key.version, trip.reason,
               trip.message);
  OnTrip on_trip;
  {
    const std::lock_guard lock(mutex_);
    trips_.push_back(trip);
    if (trips_.size() > kTripsMax) trips_.erase(trips_.begin());
    WriteSoon();
    on_trip = on_trip_;
  }
  if (on_trip) on_trip(trip);
  return true;
}

void GuardBook::Explain(const GuardKey& key, const std::string& more) {
  spdlog::warn("model \"{}\" version {}: {}", key.model, key.version, more);
  Trip trip;
  OnTrip on_trip;
  {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find(trips_, key, &Trip::key);
    if (known == trips_.end()) return;
    known->message += ": " + more;
    WriteSoon();
    trip = *known;
    on_trip = on_trip_;
  }
  if (on_trip) on_trip(trip);
}

std::vector<Trip> GuardBook::Trips() const {
  const std::lock_guard lock(mutex_);
  return trips_;
}

void GuardBook::Keep(const std::vector<GuardKey>& keys) {
  const std::set<GuardKey> kept(keys.begin(), keys.end());
  const std::lock_guard lock(mutex_);
  std::erase_if(guards_, [&](const auto& entry) { return !kept.contains(entry.first); });
  if (std::erase_if(trips_, [&](const Trip& trip) { return !kept.contains(trip.key); }) > 0) WriteSoon();
}

void GuardBook::SetOnTrip(OnTrip on_trip) {
  const std::lock_guard lock(mutex_);
  on_trip_ = std::move(on_trip);
}

}  // namespace longshore::routing
