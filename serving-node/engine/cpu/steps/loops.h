// Vectorised loops over floats, compiled for several instruction sets; the processor's best one is chosen at start.
#pragma once

#include <cstdint>
#include <string_view>

namespace longshore::engine::cpu {

// out[i] = f(in[i]). `in` and `out` may be the same.
using UnaryLoop = void (*)(const float* in, float* out, int64_t count);

// out[i] = f(a[i], b[i]); in the other two forms one operand is a single number. `out` may be the same as an operand.
struct BinaryLoops {
  void (*both)(const float* a, const float* b, float* out, int64_t count) = nullptr;
  void (*with_number)(const float* a, float b, float* out, int64_t count) = nullptr;
  void (*of_number)(float a, const float* b, float* out, int64_t count) = nullptr;
};

// Return nullptr for ops without a loop.
UnaryLoop FindUnaryLoop(std::string_view op);
const BinaryLoops* FindBinaryLoops(std::string_view op);

// SumOf adds `count` numbers in an order that depends only on `count`. MaxOf returns the largest number, or NaN if one
// of the numbers is NaN.
float SumOf(const float* in, int64_t count);
float MaxOf(const float* in, int64_t count);
// out[i] = exp(in[i] - shift).
void ExpOf(const float* in, float shift, float* out, int64_t count);
// The values that SelectOf may choose: an array (step 1), or one number for all positions (step 0).
struct Choice {
  const float* values = nullptr;
  int64_t step = 1;
};
// out[i] = condition[i] != 0 ? yes[i] : no[i].
void SelectOf(const uint8_t* condition, const Choice& yes, const Choice& no, float* out, int64_t count);
struct Spread {
  float mean = 0;
  float factor = 1;  // 1 / standard deviation.
};
// out[i] = (in[i] - mean) * factor * gamma[i] + beta[i].
void NormalizedOf(const float* in, const Spread& spread, const float* gamma, const float* beta, float* out,
                  int64_t count);
// out[i] = factor * the sum of in[row][i] over all rows.
void SumColumns(const float* in, int64_t rows, int64_t columns, float factor, float* out);

}  // namespace longshore::engine::cpu
