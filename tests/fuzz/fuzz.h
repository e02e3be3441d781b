// Fuzzers: one file NAME_fuzz.cc each, with libFuzzer's entry and a corpus in corpus/NAME/.
//
// As tests they run with our driver: every file of the corpus, and a number of mutations of them that is the same every
// time. None may crash (the sanitizers look on), take longer than kSecondsMax, or take more memory than kAllowance,
// which each fuzzer defines. `./dev fuzz NAME --seconds 600` goes on with other seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace longshore::fuzz {

inline constexpr size_t kInputBytesMax = 4096;  // libFuzzer's own default.
inline constexpr double kSecondsMax = 2;        // Of processor time, under the sanitizers.

// The memory that one input may take beside itself, at its peak.
struct Allowance {
  size_t per_byte;  // Of the input.
  size_t fixed_bytes;

  constexpr size_t For(size_t bytes) const { return per_byte * bytes + fixed_bytes; }
};
inline constexpr Allowance kOfRequests{.per_byte = 4, .fixed_bytes = size_t{64} << 10};
// What protobuf makes of bytes may be a hundred times as much: an empty tf.Example is two bytes.
inline constexpr Allowance kOfMessages{.per_byte = 128, .fixed_bytes = size_t{64} << 10};
extern const Allowance kAllowance;

inline std::string_view View(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

// For what inflates its input by the rules of its format: these bytes count as received too. Only from within
// LLVMFuzzerTestOneInput, as the next one.
void AddReceived(size_t bytes);
// The objects that protobuf made of the input: with these on top no more than kOfRequests is allowed, so that what our
// own code adds is seen beside them.
void AddParsed(size_t bytes);

}  // namespace longshore::fuzz
