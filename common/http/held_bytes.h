// How much memory the requests of a server, or its answers, may hold together: each holds its share before it takes the
// memory, and gives it back at its end.
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

  // False, and nothing is taken, where so many are not left.
  bool Take(size_t bytes) {
    size_t taken = taken_;
    do {
      if (bytes > bytes_max_ - taken) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes));
    return true;
  }
  void Give(size_t bytes) { taken_ -= bytes; }
  size_t taken() const { return taken_; }

 private:
  const size_t bytes_max_;
  std::atomic<size_t> taken_ = 0;
};

// The share of one request, or of one answer. Shares the pool: a run may end, and give its share back, after the server
// is gone.
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

  // Holds at least so many from now on. False, and it holds what it held, where the pool does not have them.
  bool Hold(size_t bytes) {
    if (bytes <= bytes_) return true;
    if (!pool_->Take(bytes - bytes_)) return false;
    bytes_ = bytes;
    return true;
  }
  void Release() {
    if (bytes_ > 0) pool_->Give(bytes_);
    bytes_ = 0;
  }

 private:
  std::shared_ptr<BytePool> pool_;  // Never null: a share that was moved from may hold again.
  size_t bytes_ = 0;
};

}  // namespace longshore::http
