// How much memory the requests of a server may hold together: each holds its share before it takes the memory, and
// gives it back at its end.
#pragma once

#include <atomic>
#include <cstddef>
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

// One request's share. The pool outlives it.
class HeldBytes {
 public:
  explicit HeldBytes(BytePool& pool) : pool_(pool) {}
  HeldBytes(HeldBytes&& other) noexcept : pool_(other.pool_), bytes_(std::exchange(other.bytes_, 0)) {}
  ~HeldBytes() { Release(); }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  // Holds at least so many from now on. False, and it holds what it held, where the pool does not have them.
  bool Hold(size_t bytes) {
    if (bytes <= bytes_) return true;
    if (!pool_.Take(bytes - bytes_)) return false;
    bytes_ = bytes;
    return true;
  }
  void Release() {
    if (bytes_ > 0) pool_.Give(bytes_);
    bytes_ = 0;
  }

 private:
  BytePool& pool_;
  size_t bytes_ = 0;
};

}  // namespace longshore::http
