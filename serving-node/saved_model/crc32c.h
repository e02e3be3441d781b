// CRC-32C (Castagnoli), the checksum of TFRecord and TensorBundle.
#pragma once

#include <cstdint>
#include <string_view>

namespace longshore::saved_model {

// Extends a checksum: returns the checksum of all bytes, first those that `crc` covers and then `bytes`. 0 is the
// checksum of no bytes.
uint32_t ExtendCrc32c(uint32_t crc, std::string_view bytes);
// Like ExtendCrc32c, but without the processor's CRC instruction.
uint32_t ExtendCrc32cByTable(uint32_t crc, std::string_view bytes);
inline uint32_t Crc32c(std::string_view bytes) { return ExtendCrc32c(0, bytes); }

// The stored form of a checksum. Checksums are masked because a checksum over bytes that contain their own checksum is
// weak.
inline uint32_t MaskCrc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }
inline uint32_t UnmaskCrc32c(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8U;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace longshore::saved_model
