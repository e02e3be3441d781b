#include "tests/fuzz/driver/memory.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace longshore::fuzz::driver {
namespace {

// Constant-initialised, because malloc is called before any constructor.
std::atomic<size_t> held{0};
std::atomic<size_t> peak{0};

void Take(size_t bytes) {
  const size_t now = held.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  size_t before = peak.load(std::memory_order_relaxed);
  while (before < now && !peak.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
  }
}

void Give(size_t bytes) { held.fetch_sub(bytes, std::memory_order_relaxed); }

}  // namespace

size_t HeldBytes() { return held; }
size_t PeakBytes() { return peak; }
void ResetPeak() { peak = held.load(); }

}  // namespace longshore::fuzz::driver

#ifdef LONGSHORE_SANITIZER_ADDRESS

// Functions of the sanitizer's allocator; gcc does not install the header that declares them.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, size_t),
                                              void (*on_free)(const volatile void*));
size_t __sanitizer_get_allocated_size(const volatile void* block);
}

namespace longshore::fuzz::driver {

void CountMemory() {
  __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, size_t bytes) { Take(bytes); },
      [](const volatile void* block) { Give(block == nullptr ? 0 : __sanitizer_get_allocated_size(block)); });
}

}  // namespace longshore::fuzz::driver

#else

// glibc's own functions, under the names that it provides for programs that replace malloc. operator new calls malloc,
// so these functions count all allocations.
extern "C" {

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* block);

static void* Counted(void* block) {
  if (block != nullptr) longshore::fuzz::driver::Take(malloc_usable_size(block));
  return block;
}

void* malloc(size_t bytes) { return Counted(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) { return Counted(__libc_calloc(count, bytes)); }
void* memalign(size_t alignment, size_t bytes) { return Counted(__libc_memalign(alignment, bytes)); }
void* aligned_alloc(size_t alignment, size_t bytes) { return Counted(__libc_memalign(alignment, bytes)); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = Counted(__libc_memalign(alignment, bytes));
  return *out == nullptr ? ENOMEM : 0;
}

void free(void* block) {
  if (block != nullptr) longshore::fuzz::driver::Give(malloc_usable_size(block));
  __libc_free(block);
}

// Counts both blocks for a moment, because both exist while the content is moved.
void* realloc(void* block, size_t bytes) {
  const size_t before = block == nullptr ? 0 : malloc_usable_size(block);
  void* moved = __libc_realloc(block, bytes);
  if (moved == nullptr && bytes > 0) return nullptr;
  Counted(moved);
  longshore::fuzz::driver::Give(before);
  return moved;
}

}  // extern "C"

namespace longshore::fuzz::driver {
void CountMemory() {}
}  // namespace longshore::fuzz::driver

#endif
