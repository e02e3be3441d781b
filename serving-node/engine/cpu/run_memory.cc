#include "serving-node/engine/cpu/run_memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "serving-node/engine/cpu/steps/arena.h"

namespace longshore::engine::cpu {

void RunMemory::Note(size_t bytes) {
  if (takes_++ % kWindow == 0) {
    const size_t needed = std::max(needed_[0], needed_[1]);
    while (!free_.empty() && free_.back().size / kSpareMax > needed) free_.pop_back();
    needed_ = {0, needed_[0]};
  }
  needed_[0] = std::max(needed_[0], bytes);
}

void RunMemory::ReservePlace() {
  const size_t wanted = free_.size() + taken_ + 1;
  if (wanted > free_.capacity()) free_.reserve(std::max(wanted, 2 * free_.capacity()));
  ++taken_;
}

RunMemory::Buffer RunMemory::Take(size_t bytes, Of of) {
  const size_t size = RoundedUp(std::max(bytes, kAlignment));
  std::unique_ptr<std::byte, void (*)(void*)> outgrown(nullptr, &std::free);
  {
    const std::lock_guard lock(mutex_);
    if (of == Of::kRun) Note(size);
    ReservePlace();
    const auto found = std::ranges::lower_bound(free_, size, {}, &Free::size);
    if (found != free_.end()) {
      Buffer taken(*this, found->bytes.release(), found->size);
      free_.erase(found);
      return taken;
    }
    if (!free_.empty()) {
      outgrown = std::move(free_.back().bytes);
      free_.pop_back();
    }
  }
  outgrown.reset();
  auto* made = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
  if (made == nullptr) {
    const std::lock_guard lock(mutex_);
    --taken_;
    throw std::bad_alloc();
  }
  return {*this, made, size};
}

void RunMemory::GiveBack(std::unique_ptr<std::byte, void (*)(void*)> bytes, size_t size) noexcept {
  const std::lock_guard lock(mutex_);
  --taken_;
  if (size / kSpareMax > std::max(needed_[0], needed_[1])) return;
  free_.insert(std::ranges::upper_bound(free_, size, {}, &Free::size), {std::move(bytes), size});
}

size_t RunMemory::free_bytes() const {
  const std::lock_guard lock(mutex_);
  size_t sum = 0;
  for (const Free& buffer : free_) sum += buffer.size;
  return sum;
}

}  // namespace longshore::engine::cpu
