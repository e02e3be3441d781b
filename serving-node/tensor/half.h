// 16-bit floats: IEEE half (DT_HALF) and bfloat16, stored as their bits.
#pragma once

#include <cstdint>

namespace longshore::tensor {

float HalfToFloat(uint16_t bits);
// Rounds half to even. Values that are too large become infinity; NaN stays NaN.
uint16_t FloatToHalf(float value);

float Bfloat16ToFloat(uint16_t bits);
uint16_t FloatToBfloat16(float value);

}  // namespace longshore::tensor
