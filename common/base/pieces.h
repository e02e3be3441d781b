// Bytes that lie in several pieces of memory, such as a message that arrived in several reads, or one whose large parts
// are sent from where they are.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longshore {

// Copies share the memory. Thread-safe for reading.
class Pieces {
 public:
  struct Piece {
    std::string_view bytes;
    std::shared_ptr<const void> owner;  // Keeps the bytes alive and unchanged.
  };

  Pieces() = default;
  explicit Pieces(std::string bytes);

  // Appends a piece. Ignores an empty one.
  void Add(std::string_view bytes, std::shared_ptr<const void> owner);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::vector<Piece>& all() const { return all_; }

  // Returns a copy of all bytes in one string.
  std::string ToString() const;

 private:
  std::vector<Piece> all_;
  size_t size_ = 0;
};

// Builds Pieces of small parts, which are copied, and of large ones, which are only referred to.
class PiecesBuilder {
 public:
  // A reference to a smaller part would cost about as much as a copy.
  static constexpr size_t kReferredBytesMin = 4096;

  // Copied bytes are appended to this string. The reference is valid until the next call of another function.
  std::string& copied() { return copied_; }

  // Appends bytes without a copy.
  void Refer(std::string_view bytes, std::shared_ptr<const void> owner);

  Pieces Build();

 private:
  void EndCopied();

  Pieces pieces_;
  std::string copied_;
};

}  // namespace longshore
