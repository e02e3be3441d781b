// What happens to objects, told to people as Events of the API server (core v1): `kubectl describe` shows them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "common/clock.h"
#include "common/json/json.h"
#include "common/worker.h"
#include "controller/kube/api.h"
#include "controller/kube/rate_limit.h"

namespace longshore::kube {

// Of whom something is told.
struct Involved {
  std::string api_version;
  std::string kind;
  std::string namespace_;
  std::string name;
  std::string uid;
};

struct EventNote {
  Involved involved;
  bool warning = false;
  std::string reason;  // One CamelCase word.
  std::string message;
};

// `number`: another one for each event of a moment. Messages are cut at 1,024 bytes, as the API server wants them.
Json ToJson(const EventNote& note, TimePoint at, uint64_t number, const std::string& reporter);

// Thread-safe.
class EventWriter {
 public:
  // `reporter`: who tells; "longshore-controller".
  EventWriter(std::unique_ptr<Api> api, std::string reporter, const Clock& clock, const MonotonicClock& timer);
  ~EventWriter();  // What waits is not told any more.

  // Does not wait. What cannot be written is logged and lost: events are for people, and decide nothing. Of those that
  // are no warnings some are left out while very many come at once, so that the server has time for what counts.
  void Write(const EventNote& note);

 private:
  bool IsLeftOut(const EventNote& note);

  const std::unique_ptr<Api> api_;
  const std::string reporter_;
  const Clock& clock_;
  const MonotonicClock& timer_;
  std::mutex mutex_;
  RateLimit routine_;  // Guarded by the mutex, as is:
  uint64_t left_out_ = 0;
  uint64_t written_ = 0;  // Of the worker's thread.
  Worker worker_;         // Last: it uses the rest.
};

}  // namespace longshore::kube
