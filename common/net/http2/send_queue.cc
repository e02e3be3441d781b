#include "common/net/http2/send_queue.h"

#include <algorithm>
#include <cstring>

#include "common/base/pieces.h"

namespace longshore::http2 {
namespace {

// The first chunk is small, because an idle connection keeps it. Each further one is twice as large.
constexpr size_t kChunkBytesMin = size_t{1} << 10;
constexpr size_t kChunkBytesMax = size_t{16} << 10;

}  // namespace

void SendQueue::Copy(std::string_view bytes) {
  queued_ += bytes.size();
  while (!bytes.empty()) {
    if (chunk_used_ == chunk_bytes_) OpenChunk();
    char* const end = chunk_.get() + chunk_used_;
    const std::string_view copied = bytes.substr(0, chunk_bytes_ - chunk_used_);
    std::memcpy(end, copied.data(), copied.size());
    chunk_used_ += copied.size();
    bytes.remove_prefix(copied.size());
    if (parts_.empty() || parts_.back().owner != chunk_) parts_.push_back({end, 0, chunk_});
    parts_.back().size += copied.size();
  }
}

void SendQueue::OpenChunk() {
  const size_t size = std::clamp(2 * chunk_bytes_, kChunkBytesMin, kChunkBytesMax);
  chunk_ = std::make_shared_for_overwrite<char[]>(size);
  chunk_bytes_ = size;
  chunk_used_ = 0;
}

void SendQueue::Refer(std::string_view bytes, const std::shared_ptr<const void>& owner) {
  if (bytes.size() < PiecesBuilder::kReferredBytesMin) return Copy(bytes);
  parts_.push_back({bytes.data(), bytes.size(), owner});
  queued_ += bytes.size();
}

size_t SendQueue::Peek(std::span<iovec> parts) const {
  const size_t count = std::min(parts.size(), parts_.size());
  for (size_t i = 0; i < count; ++i) parts[i] = {const_cast<char*>(parts_[i].bytes), parts_[i].size};
  return count;
}

void SendQueue::Consume(size_t bytes) {
  sent_ += bytes;
  while (bytes > 0) {
    Part& first = parts_.front();
    const size_t taken = std::min(bytes, first.size);
    first.bytes += taken;
    first.size -= taken;
    bytes -= taken;
    if (first.size == 0) parts_.pop_front();
  }
  if (parts_.empty()) chunk_used_ = 0;
}

}  // namespace longshore::http2
