// For tests that compare readers of the wire format with generated code.
#pragma once

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "common/base/pieces.h"

namespace longshore {

// Splits the bytes into pieces of `size` bytes.
inline Pieces Split(const std::string& bytes, size_t size) {
  const auto owner = std::make_shared<const std::string>(bytes);
  Pieces pieces;
  for (size_t at = 0; at < owner->size(); at += size) pieces.Add(std::string_view(*owner).substr(at, size), owner);
  return pieces;
}

// Damages messages. Does the same in every run of the tests.
class Damage {
 public:
  // Returns a random number from 0 to limit - 1.
  size_t Below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }

  // Returns the bytes after up to three changes: a byte is removed, added or replaced.
  std::string Change(std::string bytes) {
    for (size_t changes = Below(3) + 1; changes > 0 && !bytes.empty(); --changes) {
      const size_t at = Below(bytes.size());
      if (Below(4) == 0) {
        bytes.erase(at, 1);
      } else if (Below(4) == 0) {
        bytes.insert(at, 1, static_cast<char>(Below(256)));
      } else {
        bytes[at] = static_cast<char>(Below(256));
      }
    }
    return bytes;
  }

 private:
  std::minstd_rand random_{1};
};

}  // namespace longshore
