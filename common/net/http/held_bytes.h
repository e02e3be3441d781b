// Limits the memory that all requests of a server, or all its answers, use together: they share a pool of bytes. Each
// request takes its bytes from the pool before it allocates them, and returns them at its end.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace longshore::http {

// Thread-safe.
class BytePool {
 public:
  explicit BytePool(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Returns false, and takes nothing, if the pool has fewer than `bytes` left.
  bool Take(size_t bytes) {
    size_t taken = taken_;
    do {
      if (bytes > bytes_max_ - taken) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes));
    return true;
  }
  void Return(size_t bytes) { taken_ -= bytes; }
  size_t taken() const { return taken_; }

 private:
  const size_t bytes_max_;
  std::atomic<size_t> taken_ = 0;
};

// The bytes that one request, or one answer, has taken from the pool. Shares ownership of the pool, because a request
// may end and return its bytes after the server is gone.
class HeldBytes {
 public:
  explicit HeldBytes(std::shared_ptr<BytePool> pool) : pool_(std::move(pool)) {}
  HeldBytes(HeldBytes&& other) noexcept : pool_(other.pool_), bytes_(std::exchange(other.bytes_, 0)) {}
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    Release();
    pool_ = other.pool_;
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~HeldBytes() { Release(); }

  // Increases the held bytes to at least `bytes`. Returns false, and changes nothing, if the pool has too few bytes
  // left.
  bool Hold(size_t bytes) {
    if (bytes <= bytes_) return true;
    if (!pool_->Take(bytes - bytes_)) return false;
    bytes_ = bytes;
    return true;
  }
  void Release() {
    if (bytes_ > 0) pool_->Return(bytes_);
    bytes_ = 0;
  }

 private:
  std::shared_ptr<BytePool> pool_;  // Never null, so that a moved-from object can hold bytes again.
  size_t bytes_ = 0;
};

}  // namespace longshore::http
