#include "common/net/http2/send_queue.h"

#include <algorithm>

#include "common/base/pieces.h"

namespace longshore::http2 {
namespace {

constexpr size_t kKeptBytesMax = size_t{64} << 10;  // Memory that an empty queue keeps.

}  // namespace

void SendQueue::Copy(std::string_view bytes) {
  if (bytes.empty()) return;
  if (parts_.empty() || parts_.back().bytes != nullptr) parts_.push_back({.begin = copied_.size()});
  copied_.append(bytes);
  parts_.back().size += bytes.size();
  queued_ += bytes.size();
}

void SendQueue::Refer(std::string_view bytes, const std::shared_ptr<const void>& owner) {
  if (bytes.size() < PiecesBuilder::kReferredBytesMin) return Copy(bytes);
  parts_.push_back({.size = bytes.size(), .bytes = bytes.data(), .owner = owner});
  queued_ += bytes.size();
}

size_t SendQueue::Peek(std::span<iovec> parts) const {
  const size_t count = std::min(parts.size(), parts_.size() - first_);
  for (size_t i = 0; i < count; ++i) {
    const Part& part = parts_[first_ + i];
    const char* bytes = part.bytes != nullptr ? part.bytes : copied_.data() + part.begin;
    const size_t skipped = i == 0 ? first_sent_ : 0;
    parts[i] = {const_cast<char*>(bytes) + skipped, part.size - skipped};
  }
  return count;
}

void SendQueue::Consume(size_t bytes) {
  sent_ += bytes;
  if (empty()) return Clear();
  while (bytes > 0) {
    Part& part = parts_[first_];
    const size_t left = part.size - first_sent_;
    if (bytes < left) {
      first_sent_ += bytes;
      return;
    }
    bytes -= left;
    part.owner.reset();
    ++first_;
    first_sent_ = 0;
  }
}

void SendQueue::Clear() {
  sent_ = queued_;
  parts_.clear();
  copied_.clear();
  if (copied_.capacity() > kKeptBytesMax) copied_ = {};
  first_ = first_sent_ = 0;
}

}  // namespace longshore::http2
