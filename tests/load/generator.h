// Sends requests at a settable rate, whatever the answers do, and enters every one into the ledger.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "tests/load/client.h"
#include "tests/load/ledger.h"

namespace longshore::load {

struct GeneratorOptions {
  double rate_per_second = 100;
  double rest_share = 0;  // Of the requests go over REST, 0..1.
  KeyOptions keys;
  int retries = 0;              // How often a request whose connection died is sent again, 50 ms later.
  size_t in_flight_max = 5000;  // An arrival above that is entered as a failure and not sent.
  uint64_t requests_max = 0;    // Stops after so many; 0: never.
  size_t samples = 1;           // How many inputs there are, used in turn.
  uint64_t seed = 1;
};

inline constexpr double kRateMax = 100'000;

// Sends from its own thread from construction until Stop. The clients and the ledger must outlive it.
class Generator {
 public:
  // `rest` may be null when rest_share is 0.
  Generator(const GeneratorOptions& options, Client& grpc, Client* rest, Ledger& ledger, const Clock& clock);
  ~Generator();

  // Requests per second from now on, 0 pauses. InvalidArgument above kRateMax or below 0.
  Status SetRate(double rate_per_second);
  double rate() const;

  // No new requests after this; those in flight are answered by their deadline at the latest.
  void Stop();
  // All requests_max requests, or all keys of a run with each key once and share 1, were sent.
  bool exhausted() const { return exhausted_; }

 private:
  void Run();
  // False when it should stop.
  bool WaitForArrival(std::chrono::steady_clock::time_point arrival);
  void SendOne();
  void Dispatch(RequestId id, bool over_rest, const Ask& ask, int retries_left);
  bool IsExhausted() const;

  const GeneratorOptions options_;
  Client& grpc_;
  Client* rest_;
  Ledger& ledger_;
  const Clock& clock_;
  Arrivals arrivals_;
  Keys keys_;
  RequestId next_ = 0;
  std::atomic<bool> exhausted_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  double rate_per_second_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace longshore::load
