// Lets any thread reach the strand of a connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace longshore::http2 {

class Stream;

// The strand of a connection. Thread-safe.
class Waker {
 public:
  virtual ~Waker() = default;
  // Whether the caller runs on the strand.
  virtual bool IsOnStrand() const = 0;
  // Lets the connection call Session::RunNotified soon on its strand.
  virtual void Wake() = 0;
};

// The streams of one connection for which OnNotified has to run. Many streams wake the strand only once. Thread-safe.
class Notifications {
 public:
  explicit Notifications(std::shared_ptr<Waker> waker) : waker_(std::move(waker)) {}

  bool IsOnStrand() const { return waker_->IsOnStrand(); }
  void Add(std::shared_ptr<Stream> stream);
  // Moves the waiting streams to `streams`, which must be empty.
  void Take(std::vector<std::shared_ptr<Stream>>& streams);
  // Releases the waiting streams, and ignores all later ones.
  void Close();

  // The number of streams that exist, whether the session still knows them or only their users.
  std::atomic<uint32_t> streams_alive = 0;

 private:
  const std::shared_ptr<Waker> waker_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Stream>> waiting_;
  bool is_woken_ = false;  // Wake was called, and Take was not called since.
  bool is_closed_ = false;
};

}  // namespace longshore::http2
