// Sends requests at a rate that can be changed, without waiting for answers, and records each of them in the ledger.
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
  double rest_share = 0;  // The share of requests sent over REST, 0..1.
  KeyOptions keys;
  int retries = 0;              // How many times a request whose connection died is sent again, after 50 ms each.
  size_t in_flight_max = 5000;  // A request above this limit is not sent and is recorded as a failure.
  uint64_t requests_max = 0;    // Stops after this number of requests; 0: no limit.
  size_t samples = 1;           // The number of prepared inputs, which are used in turn.
  uint64_t seed = 1;
};

inline constexpr double kRateMax = 100'000;

// Sends requests from its own thread, from construction until Stop. The clients and the ledger must outlive it.
class Generator {
 public:
  // `rest` may be null when rest_share is 0.
  Generator(const GeneratorOptions& options, Client& grpc, Client* rest, Ledger& ledger, const Clock& clock);
  ~Generator();

  // Sets the number of requests per second; 0 pauses the generator. InvalidArgument if it is above kRateMax or below 0.
  Status SetRate(double rate_per_second);
  double rate() const;

  // Sends no new requests from now on. Those in flight are still answered and, if their connection dies, retried.
  void Stop();
  // Whether all requests were sent: either requests_max requests, or one request for each key if every request carries
  // a key and each key is sent only once.
  bool exhausted() const { return exhausted_; }

 private:
  void Run();
  // Returns false if the generator must stop.
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
