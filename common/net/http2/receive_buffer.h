// Memory into which sockets are read. A large part of a body is not copied out of it: the part keeps its buffer alive.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "common/net/http/held_bytes.h"

namespace longshore::http2 {

// Used by one connection at a time.
class ReceiveBuffer : public std::enable_shared_from_this<ReceiveBuffer> {
 public:
  static constexpr size_t kBytes = size_t{64} << 10;
  static constexpr size_t kReferredBytesMin = size_t{8} << 10;  // Shorter parts of a body are copied.
  static constexpr size_t kRoomBytesMin = size_t{16} << 10;

  explicit ReceiveBuffer(std::shared_ptr<http::BytePool> pool) : pool_(std::move(pool)) {}

  // The bytes that may be overwritten.
  std::span<char> room() { return std::span(bytes_).subspan(used_); }
  // Returns a reference that keeps the buffer's bytes unchanged. The whole buffer is taken from the pool as long as
  // there are such references. Returns null if the pool has too few bytes left: then the bytes must be copied.
  std::shared_ptr<const void> Pin() {
    auto pin = pin_.lock();
    if (!pin) {
      http::HeldBytes held(pool_);
      if (!held.Hold(kBytes)) return nullptr;
      pin = std::make_shared<Pinned>(Pinned{shared_from_this(), std::move(held)});
      pin_ = pin;
    }
    is_pinned_ = true;
    return pin;
  }
  // Ends a use of room(), of which `bytes` were filled. Returns false if too little room is left for another use.
  bool Recycle(size_t bytes) {
    if (std::exchange(is_pinned_, false)) used_ += bytes;
    return kBytes - used_ >= kRoomBytesMin;
  }

 private:
  struct Pinned {
    std::shared_ptr<ReceiveBuffer> buffer;
    http::HeldBytes held;
  };

  const std::shared_ptr<http::BytePool> pool_;
  std::weak_ptr<Pinned> pin_;
  size_t used_ = 0;
  bool is_pinned_ = false;
  std::array<char, kBytes> bytes_;
};

// The buffers that no connection uses at the moment. Thread-safe.
class ReceiveBuffers {
 public:
  // Keeps at most `kept_max` unused buffers.
  ReceiveBuffers(std::shared_ptr<http::BytePool> pool, size_t kept_max) : pool_(std::move(pool)), kept_max_(kept_max) {}

  std::shared_ptr<ReceiveBuffer> Take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto last = std::move(free_.back());
        free_.pop_back();
        return last;
      }
    }
    return std::make_shared<ReceiveBuffer>(pool_);
  }
  void Return(std::shared_ptr<ReceiveBuffer> buffer, size_t bytes_filled) {
    if (!buffer->Recycle(bytes_filled)) return;
    const std::lock_guard lock(mutex_);
    if (free_.size() < kept_max_) free_.push_back(std::move(buffer));
  }

 private:
  const std::shared_ptr<http::BytePool> pool_;
  const size_t kept_max_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<ReceiveBuffer>> free_;
};

}  // namespace longshore::http2
