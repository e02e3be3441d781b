#include "serving-node/tensor/half.h"

#include <bit>
#include <cmath>

namespace longshore::tensor {

float HalfToFloat(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  if (exponent < 31) return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  const uint32_t special =
      (static_cast<uint32_t>(bits & 0x8000) << 16) | 0x7f800000U | (static_cast<uint32_t>(mantissa) << 13);
  return std::bit_cast<float>(special);
}

uint16_t FloatToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x1p-14F) {
    // The result is subnormal: a multiple of 2^-24. nearbyint rounds half to even. If it rounds up to 1024, these bits
    // are the smallest normal number.
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24))));
  }
  const uint32_t positive = bits & 0x7fffffff;
  const uint32_t rounded = positive + 0xfff + ((positive >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - (112U << 23)) >> 13));
}

float Bfloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t FloatToBfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace longshore::tensor
