// SHA-256 (FIPS 180-4): used for the digests of files and of desired states, and to assign requests to versions.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace longshore {

using Sha256Bytes = std::array<uint8_t, 32>;

Sha256Bytes Sha256(std::string_view bytes);

// Returns 64 lower-case hexadecimal digits.
std::string ToHex(const Sha256Bytes& digest);

// Hashes data that does not fit into memory: call Update with each piece in order, then Finish once.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  void Update(std::string_view bytes);
  Sha256Bytes Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace longshore
