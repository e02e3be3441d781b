// Bytes that wait to be written to a socket. Small parts are copied behind one another, large ones are only referred
// to, so that one system call can write many answers.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longshore::http2 {

// Not thread-safe.
class SendQueue {
 public:
  void Copy(std::string_view bytes);
  // Appends bytes that `owner` keeps alive. Copies them if they are few.
  void Refer(std::string_view bytes, const std::shared_ptr<const void>& owner);

  // Fills `parts` with the first bytes of the queue. Returns the number of parts. They are valid until the queue
  // changes.
  size_t Peek(std::span<iovec> parts) const;
  // Removes the first bytes. Requires: bytes <= size().
  void Consume(size_t bytes);
  void Clear();

  size_t size() const { return static_cast<size_t>(queued_ - sent_); }
  bool empty() const { return queued_ == sent_; }
  uint64_t queued() const { return queued_; }  // All bytes that were ever appended,
  uint64_t sent() const { return sent_; }      // and those that were consumed.

 private:
  struct Part {
    size_t begin = 0;  // In copied_, if `bytes` is null.
    size_t size = 0;
    const char* bytes = nullptr;
    std::shared_ptr<const void> owner = {};
  };

  std::string copied_;
  std::vector<Part> parts_;
  size_t first_ = 0;       // The first part that was not consumed completely,
  size_t first_sent_ = 0;  // and its consumed bytes.
  uint64_t queued_ = 0;
  uint64_t sent_ = 0;
};

}  // namespace longshore::http2
