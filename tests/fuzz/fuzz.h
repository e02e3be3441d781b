// Fuzzers: one file NAME_fuzz.cc each, with libFuzzer's entry and a corpus in corpus/NAME/.
//
// As tests they run with our driver (driver/driver.cc): every file of the corpus, and mutations of these files, which
// are different in every run. No input may crash the process (the sanitizers detect more errors), take longer than
// kSecondsMax, or take more memory than kAllowance, which each fuzzer defines. `./dev fuzz NAME --seconds 600` runs a
// fuzzer with libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace longshore::fuzz {

inline constexpr size_t kInputBytesMax = 4096;  // libFuzzer's default.
inline constexpr double kSecondsMax = 2;        // Limit of the processor time of one input, under the sanitizers.

// The peak of the memory that one input may take in addition to its own bytes.
struct Allowance {
  size_t per_byte;  // Per byte of the input.
  size_t fixed_bytes;

  constexpr size_t For(size_t bytes) const { return per_byte * bytes + fixed_bytes; }
};
inline constexpr Allowance kOfRequests{.per_byte = 4, .fixed_bytes = size_t{64} << 10};
// Parsed protobuf messages may take a hundred times the memory of their bytes: an empty tf.Example has two bytes.
inline constexpr Allowance kOfMessages{.per_byte = 128, .fixed_bytes = size_t{64} << 10};
extern const Allowance kAllowance;

inline std::string_view View(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

// Adds bytes that count as received, for formats that inflate their input. Call this function and AddParsed only from
// within LLVMFuzzerTestOneInput.
void AddReceived(size_t bytes);
// Adds the size of the objects that protobuf made of the input. The limit is then at most what kOfRequests allows for
// the sum of this size and the received bytes, so that the memory that our own code adds is limited as well.
void AddParsed(size_t bytes);

// What these functions have added for the current input.
struct Added {
  size_t received = 0;
  size_t parsed = 0;
};
extern Added added;

}  // namespace longshore::fuzz
