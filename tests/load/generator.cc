#include "tests/load/generator.h"

#include <grpcpp/alarm.h>

#include <algorithm>
#include <functional>

namespace longshore::load {
namespace {

using Steady = std::chrono::steady_clock;

// After a stall, for example because the machine slept, requests that are overdue by more than this are not sent; the
// others are sent late.
constexpr auto kBacklogMax = std::chrono::seconds(1);

// The connections of a killed process end one after the other, so a retry without a delay may use the next connection
// that is about to end.
constexpr auto kRetryPause = std::chrono::milliseconds(50);

void After(std::chrono::milliseconds pause, std::function<void()> call) {
  auto* alarm = new grpc::Alarm;
  alarm->Set(std::chrono::system_clock::now() + pause, [alarm, call = std::move(call)](bool) {
    delete alarm;
    call();
  });
}

}  // namespace

Generator::Generator(const GeneratorOptions& options, Client& grpc, Client* rest, Ledger& ledger, const Clock& clock)
    : options_(options),
      grpc_(grpc),
      rest_(rest),
      ledger_(ledger),
      clock_(clock),
      arrivals_(options.seed),
      keys_(options.keys),
      rate_per_second_(options.rate_per_second) {
  CHECK(rest_ != nullptr || options_.rest_share == 0);
  thread_ = std::thread([this] { Run(); });
}

Generator::~Generator() { Stop(); }

Status Generator::SetRate(double rate_per_second) {
  if (!(rate_per_second >= 0 && rate_per_second <= kRateMax)) {
    return InvalidArgument("rate {} is not between 0 and {}", rate_per_second, kRateMax);
  }
  const std::lock_guard lock(mutex_);
  rate_per_second_ = rate_per_second;
  changed_.notify_all();
  return {};
}

double Generator::rate() const {
  const std::lock_guard lock(mutex_);
  return rate_per_second_;
}

void Generator::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool Generator::IsExhausted() const {
  if (options_.requests_max != 0 && next_ >= options_.requests_max) return true;
  return options_.keys.share >= 1 && keys_.exhausted();
}

void Generator::Run() {
  auto arrival = Steady::now();
  while (!IsExhausted()) {
    const double rate_now = rate();
    if (rate_now > 0) {
      arrival += std::chrono::duration_cast<Steady::duration>(arrivals_.NextGap(rate_now));
      arrival = std::max(arrival, Steady::now() - kBacklogMax);
    } else {
      arrival = Steady::now() + std::chrono::milliseconds(100);
    }
    if (!WaitForArrival(arrival)) return;
    if (rate_now > 0) SendOne();
  }
  exhausted_ = true;
}

bool Generator::WaitForArrival(Steady::time_point arrival) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, arrival, [this] { return stopping_; });
  return !stopping_;
}

void Generator::SendOne() {
  const RequestId id = next_++;
  const Ask ask = {.sample = id % options_.samples, .key = keys_.Next(arrivals_)};
  const bool over_rest = options_.rest_share > 0 && arrivals_.NextUniform() < options_.rest_share;
  ledger_.Sent(id, ask.key, clock_.Now());
  if (ledger_.in_flight() > options_.in_flight_max) {
    Reply refused;
    refused.code = Code::kResourceExhausted;
    refused.message = "not sent: too many requests in flight in the generator";
    return ledger_.Answered(id, refused, clock_.Now());
  }
  Dispatch(id, over_rest, ask, options_.retries);
}

void Generator::Dispatch(RequestId id, bool over_rest, const Ask& ask, int retries_left) {
  Client& client = over_rest ? *rest_ : grpc_;
  client.Send(ask, [=, this](const Reply& reply) {
    if (!reply.connection_died || retries_left == 0) return ledger_.Answered(id, reply, clock_.Now());
    ledger_.Retried(id);
    After(kRetryPause, [=, this] { Dispatch(id, over_rest, ask, retries_left - 1); });
  });
}

}  // namespace longshore::load
