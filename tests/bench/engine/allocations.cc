#include "tests/bench/engine/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace {

// Constant-initialised, because malloc is called before any constructor.
std::atomic<int64_t> allocations{0};

void Count() { allocations.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

namespace longshore::bench::engine {

int64_t Allocations() { return allocations; }

}  // namespace longshore::bench::engine

#ifdef LONGSHORE_SANITIZER

// A function of the sanitizer's allocator; gcc does not install the header that declares it.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, size_t),
                                                         void (*on_free)(const volatile void*));

namespace {
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t) { Count(); }, [](const volatile void*) {});
}  // namespace

#else

#include <jemalloc/jemalloc.h>

namespace {

void* Take(size_t bytes, int flags = 0) {
  Count();
  return mallocx(bytes == 0 ? 1 : bytes, flags);
}

void* TakeOrThrow(size_t bytes, int flags = 0) {
  void* block = Take(bytes, flags);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

int Aligned(std::align_val_t alignment) { return MALLOCX_ALIGN(static_cast<size_t>(alignment)); }

}  // namespace

// In the program, these functions replace those of jemalloc. The blocks that they return come from jemalloc, so its
// free and delete accept them. jemalloc's operator new does not call malloc, so every form of it is replaced as well.
extern "C" {

void* malloc(size_t bytes) noexcept { return Take(bytes); }
void* memalign(size_t alignment, size_t bytes) noexcept { return Take(bytes, MALLOCX_ALIGN(alignment)); }
void* aligned_alloc(size_t alignment, size_t bytes) noexcept { return Take(bytes, MALLOCX_ALIGN(alignment)); }

void* calloc(size_t count, size_t bytes) noexcept {
  size_t all = 0;
  return __builtin_mul_overflow(count, bytes, &all) ? nullptr : Take(all, MALLOCX_ZERO);
}

int posix_memalign(void** block, size_t alignment, size_t bytes) noexcept {
  *block = Take(bytes, MALLOCX_ALIGN(alignment));
  return *block == nullptr ? ENOMEM : 0;
}

void* realloc(void* block, size_t bytes) noexcept {
  if (block == nullptr) return Take(bytes);
  Count();
  return rallocx(block, bytes == 0 ? 1 : bytes, 0);
}

}  // extern "C"

void* operator new(size_t bytes) { return TakeOrThrow(bytes); }
void* operator new[](size_t bytes) { return TakeOrThrow(bytes); }
void* operator new(size_t bytes, std::align_val_t alignment) { return TakeOrThrow(bytes, Aligned(alignment)); }
void* operator new[](size_t bytes, std::align_val_t alignment) { return TakeOrThrow(bytes, Aligned(alignment)); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Take(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return Take(bytes); }
void* operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Take(bytes, Aligned(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Take(bytes, Aligned(alignment));
}

#endif
