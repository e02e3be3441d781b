// The memory that runs work in: one buffer for each run under way, kept for the runs that come, of whatever program.
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
  // A run that needs this many times less than a buffer is no reason to keep it.
  static constexpr size_t kSpareMax = 4;
  static constexpr size_t kWindow = 1024;  // In takes of runs: what none of so many has needed goes.

  // Of one run; goes back when it is destroyed.
  class Buffer {
   public:
    Buffer(RunMemory& owner, std::byte* bytes, size_t size) : owner_(&owner), bytes_(bytes, &std::free), size_(size) {}
    Buffer(Buffer&&) = default;
    Buffer& operator=(Buffer&&) = delete;
    ~Buffer() {
      if (bytes_) owner_->GiveBack(std::move(bytes_), size_);
    }
    std::byte* data() const { return bytes_.get(); }

   private:
    RunMemory* owner_;
    std::unique_ptr<std::byte, void (*)(void*)> bytes_;
    size_t size_;
  };

  // Bodies run within a run, thousands of times maybe: they say nothing of what runs need.
  enum class Of { kRun, kBody };

  // At least so many bytes, aligned to kAlignment; what they hold is anything. Throws std::bad_alloc.
  Buffer Take(size_t bytes, Of of = Of::kRun);
  // Of the buffers that no run has.
  size_t free_bytes() const;

 private:
  struct Free {
    std::unique_ptr<std::byte, void (*)(void*)> bytes;
    size_t size;
  };
  void GiveBack(std::unique_ptr<std::byte, void (*)(void*)> bytes, size_t size);
  void Note(size_t bytes);

  mutable std::mutex mutex_;
  std::vector<Free> free_;  // The smallest first.
  size_t takes_ = 0;
  std::array<size_t, 2> needed_{};  // The most that a run asked for, in this window and in the last one.
};

}  // namespace longshore::engine::cpu
