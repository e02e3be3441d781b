// A pool of buffers for runs: one buffer for each concurrent run. A free buffer serves later runs of any program.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace longshore::engine::cpu {

// Thread-safe.
class RunMemory {
 public:
  // A free buffer is released if it is more than this many times larger than recent runs needed.
  static constexpr size_t kSpareMax = 4;
  static constexpr size_t kWindow = 1024;  // In runs. Recent runs are those of the current and the last window.

  // The buffer of one run; its destructor gives it back to the pool.
  class Buffer {
   public:
    Buffer(RunMemory& owner, std::byte* bytes, size_t size) : owner_(&owner), bytes_(bytes, &std::free), size_(size) {}
    Buffer(Buffer&&) = default;
    Buffer& operator=(Buffer&&) = delete;
    ~Buffer() {
      // Allocates nothing: Take has reserved room for this buffer in the list of free ones.
      if (bytes_) owner_->GiveBack(std::move(bytes_), size_);
    }
    std::byte* data() const { return bytes_.get(); }

   private:
    RunMemory* owner_;
    std::unique_ptr<std::byte, void (*)(void*)> bytes_;
    size_t size_;
  };

  // Whether a buffer is for a run or for a body within a run. Bodies may run thousands of times within one run, so
  // their sizes do not count for kWindow and kSpareMax.
  enum class Of { kRun, kBody };

  // A buffer of at least this many bytes, aligned to kAlignment, not initialised. Throws std::bad_alloc.
  Buffer Take(size_t bytes, Of of = Of::kRun);
  // The bytes of all free buffers.
  size_t free_bytes() const;

 private:
  struct Free {
    std::unique_ptr<std::byte, void (*)(void*)> bytes;
    size_t size;
  };
  // Notes that a run holds one buffer more, and reserves a place for it in free_. Requires: mutex_ is held.
  void ReservePlace();
  void GiveBack(std::unique_ptr<std::byte, void (*)(void*)> bytes, size_t size) noexcept;
  void Note(size_t bytes);

  mutable std::mutex mutex_;
  std::vector<Free> free_;  // Sorted by size, smallest first. Its capacity is at least its size plus taken_.
  size_t taken_ = 0;        // The number of buffers that runs hold now.
  size_t takes_ = 0;
  std::array<size_t, 2> needed_{};  // The largest size that a run asked for, in the current and the last window.
};

}  // namespace longshore::engine::cpu
