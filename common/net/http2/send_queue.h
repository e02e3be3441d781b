// Bytes that wait to be written to a socket. Small parts are copied behind one another, large ones are only referred
// to, so that one system call can write many answers.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>

namespace longshore::http2 {

// Not thread-safe.
class SendQueue {
 public:
  void Copy(std::string_view bytes);
  // Appends bytes that `owner` keeps alive. Copies them if they are few.
  void Refer(std::string_view bytes, const std::shared_ptr<const void>& owner);

  // Fills `parts` with the first bytes of the queue. Returns the number of parts. Their bytes stay where they are until
  // they are consumed.
  size_t Peek(std::span<iovec> parts) const;
  // Removes the first bytes, and frees them. Requires: bytes <= size().
  void Consume(size_t bytes);

  size_t size() const { return static_cast<size_t>(queued_ - sent_); }
  bool empty() const { return queued_ == sent_; }
  uint64_t queued() const { return queued_; }  // All bytes that were ever appended,
  uint64_t sent() const { return sent_; }      // and those that were consumed.

 private:
  struct Part {
    const char* bytes;
    size_t size;
    std::shared_ptr<const void> owner;
  };
  void OpenChunk();

  std::deque<Part> parts_;
  std::shared_ptr<char[]> chunk_;  // The newest copied bytes.
  size_t chunk_bytes_ = 0;         // The size of chunk_,
  size_t chunk_used_ = 0;          // and its copied bytes.
  uint64_t queued_ = 0;
  uint64_t sent_ = 0;
};

}  // namespace longshore::http2
