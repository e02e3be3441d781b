#include "common/heap_testing/heap.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace longshore::heap_testing {
namespace {

// The variables are constant-initialised, because operator new is called before any constructor of a static object.
constinit std::atomic<int64_t> held_bytes{0};
constinit std::atomic<int64_t> peak_bytes{0};
// The number of calls that will succeed before calls fail. If it is negative, no call fails.
constinit thread_local int64_t successes_left = -1;
constinit thread_local int64_t failed = 0;

}  // namespace

FailingNew::FailingNew(int64_t successes) {
  failed = 0;
  successes_left = successes;
}

FailingNew::~FailingNew() { successes_left = -1; }

int64_t FailingNew::failures() const { return failed; }

PeakBytes::PeakBytes() : before_(held_bytes) { peak_bytes = before_; }

size_t PeakBytes::bytes() const { return static_cast<size_t>(std::max<int64_t>(peak_bytes - before_, 0)); }

namespace {

[[maybe_unused]] bool Fails() {
  if (successes_left < 0) return false;
  if (successes_left == 0) {
    ++failed;
    return true;
  }
  --successes_left;
  return false;
}

[[maybe_unused]] void* Count(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  const auto bytes = static_cast<int64_t>(malloc_usable_size(block));
  const int64_t now = held_bytes.fetch_add(bytes) + bytes;
  int64_t peak = peak_bytes;
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
  }
  return block;
}

[[maybe_unused]] void Release(void* block) {
  held_bytes -= static_cast<int64_t>(malloc_usable_size(block));
  std::free(block);
}

}  // namespace
}  // namespace longshore::heap_testing

#ifndef LONGSHORE_SANITIZER

namespace heap = longshore::heap_testing;

// By default, the array forms and the nothrow forms call these two functions.
void* operator new(size_t bytes) {
  if (heap::Fails()) throw std::bad_alloc();
  return heap::Count(std::malloc(std::max<size_t>(bytes, 1)));
}

void* operator new(size_t bytes, std::align_val_t alignment) {
  if (heap::Fails()) throw std::bad_alloc();
  const auto at = static_cast<size_t>(alignment);
  if (bytes > SIZE_MAX - at) throw std::bad_alloc();
  return heap::Count(std::aligned_alloc(at, std::max(bytes + at - 1, at) / at * at));
}

void operator delete(void* block) noexcept { heap::Release(block); }
void operator delete(void* block, size_t) noexcept { heap::Release(block); }
void operator delete(void* block, std::align_val_t) noexcept { heap::Release(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { heap::Release(block); }

#endif
