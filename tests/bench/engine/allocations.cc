// Replaces operator new for the whole program; the other forms of the standard library call one of these two.
#include "tests/bench/engine/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> allocations = 0;

void* Counted(void* memory) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return Counted(std::malloc(size == 0 ? 1 : size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto aligned = static_cast<std::size_t>(alignment);
  return Counted(std::aligned_alloc(aligned, (size + aligned - 1) / aligned * aligned));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace longshore::bench {

int64_t Allocations() { return allocations.load(); }

}  // namespace longshore::bench
