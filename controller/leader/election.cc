#include "controller/leader/election.h"

#include <algorithm>
#include <utility>

namespace longshore::leader {

std::string ProblemWith(const Options& options) {
  if (options.retry_period <= Duration(0)) return "the retry period must be above 0";
  if (options.renew_deadline <= options.retry_period) return "the renew deadline must be above the retry period";
  if (options.lease_duration <= options.renew_deadline) return "the lease duration must be above the renew deadline";
  // The Lease stores the duration in whole seconds.
  if (options.lease_duration < std::chrono::seconds(1)) return "the lease duration must be at least a second";
  return "";
}

bool Election::IsFree(MonotonicPoint now, int64_t epoch_floor) const {
  // A missing Lease may have been deleted while a controller leads; that controller leads until its own deadline.
  if (!seen_) return now >= seen_since_ + options_.lease_duration && now <= *read_at_ + UnobservedMax();
  if (now >= seen_since_ + std::max(seen_->duration, options_.lease_duration)) return true;
  // An empty holder means that the last holder released the Lease. But if the Lease's epoch is below the highest known
  // one, the Lease was restored from a backup, and the actual holder may still lead.
  return seen_->holder.empty() && seen_->transitions >= epoch_floor;
}

Move Election::Next(MonotonicPoint now, int64_t epoch_floor) const {
  // A Lease that passed its deadline is not renewed, because its term is over.
  const bool holds = held_ && now < deadline();
  const bool may_take = !holds && has_read_ && IsFree(now, epoch_floor);
  if (now < due_ && !may_take) return WaitUntil{due_};
  if (holds && in_doubt_) return Read{};
  if (holds) {
    Lease renewed = *held_;
    if (epoch_floor > renewed.transitions) renewed.transitions = epoch_floor + 1;  // Begins a new term.
    return Write{std::move(renewed), held_->version};
  }
  if (!may_take) return Read{};
  const int64_t before = std::max(epoch_floor, seen_ ? seen_->transitions : 0);
  return Write{{.holder = options_.identity, .duration = options_.lease_duration, .transitions = before + 1},
               seen_ ? seen_->version : ""};
}

void Election::OnRead(const std::optional<Lease>& lease, MonotonicPoint now) {
  due_ = now + options_.retry_period;
  if (held_ && now < deadline()) {
    // Before the deadline no other candidate can have taken the Lease: it is unchanged, was deleted, or was replaced
    // by an older state of itself.
    const bool is_ours = !lease || (lease->holder == options_.identity && lease->transitions <= held_->transitions);
    if (is_ours) {
      held_->version = lease ? lease->version : "";
      in_doubt_ = false;
      due_ = now;
      return;
    }
  }
  held_.reset();
  // Between two reads that find no Lease, one may have been created and deleted, and its holder leads until its
  // deadline. So two such reads count as unchanged only if they are close together.
  const bool is_unchanged = read_at_ && lease.has_value() == seen_.has_value() &&
                            (lease ? lease->version == seen_->version : now <= *read_at_ + UnobservedMax());
  if (!is_unchanged) seen_since_ = now;
  read_at_ = now;
  seen_ = lease;
  has_read_ = true;
}

void Election::OnReadFailed(MonotonicPoint now) {
  has_read_ = false;
  due_ = now + options_.retry_period;
  if (held_ && now >= deadline()) held_.reset();
}

void Election::OnWritten(const Lease& written, MonotonicPoint sent_at, MonotonicPoint now) {
  // The write was sent under conditions that hold only for a limited time. If the answer took too long, the server may
  // have executed the write after that time.
  const bool is_over = held_ ? now >= deadline() : now > sent_at + UnobservedMax();
  if (is_over) {
    held_.reset();
    return OnConflict(now);
  }
  held_ = written;
  in_doubt_ = false;
  renewed_at_ = sent_at;
  has_read_ = false;
  read_at_.reset();
  due_ = sent_at + options_.retry_period;
}

void Election::OnConflict(MonotonicPoint now) {
  in_doubt_ = held_.has_value();
  has_read_ = false;
  due_ = now;  // Read the Lease immediately.
}

void Election::OnWriteFailed(MonotonicPoint now) {
  has_read_ = false;
  due_ = now + options_.retry_period;
  if (held_ && now >= deadline()) held_.reset();
}

std::optional<Write> Election::Release() {
  if (!held_) return std::nullopt;
  Write write{*held_, held_->version};
  write.lease.holder.clear();
  held_.reset();
  return write;
}

}  // namespace longshore::leader
