// Reports what happens to objects as Events of the API server (core v1), which `kubectl describe` shows.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/clock.h"
#include "common/json/json.h"
#include "common/os/worker.h"
#include "controller/kube/api.h"
#include "controller/kube/rate_limit.h"

namespace longshore::kube {

// The object that an event is about.
struct InvolvedObject {
  std::string api_version;
  std::string kind;
  std::string namespace_;
  std::string name;
  std::string uid;
};

struct EventNote {
  InvolvedObject involved;
  bool warning = false;
  std::string reason;  // One CamelCase word.
  std::string message;
};

// `number` must differ between events with the same time. Cuts messages at 1,024 bytes, the limit of the API server.
Json ToJson(const EventNote& note, TimePoint at, uint64_t number, const std::string& reporter);

// Thread-safe.
class EventWriter {
 public:
  // `reporter`: the component that reports the events, for example "longshore-controller".
  EventWriter(std::unique_ptr<Api> api, std::string reporter, const Clock& clock, const MonotonicClock& timer);
  ~EventWriter();  // Drops the queued events.

  // Does not block. An event that cannot be written is logged and lost: events only inform people. Events other than
  // warnings are dropped above a rate limit, to leave the server's capacity for other requests.
  void Write(const EventNote& note);

 private:
  bool IsDropped(const EventNote& note);

  const std::unique_ptr<Api> api_;
  const std::string reporter_;
  const Clock& clock_;
  const MonotonicClock& timer_;
  std::mutex mutex_;
  RateLimit routine_;  // Limits events other than warnings. Guarded by the mutex, like `dropped_`.
  uint64_t dropped_ = 0;
  uint64_t written_ = 0;  // Used only on the worker's thread.
  Worker worker_;         // Last, so that it is destroyed first: its thread uses the other members.
};

}  // namespace longshore::kube
