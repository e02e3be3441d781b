// Runs a fuzzer with libFuzzer, which prefers inputs that reach new code. The linker's --wrap puts the measurement
// between libFuzzer and the fuzzer: libFuzzer calls __wrap_..., and __real_... is the fuzzer's function.
#include <cstdlib>
#include <string>

#include "tests/fuzz/driver/measure.h"

extern "C" int __real_LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int __wrap_LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const char* keep = std::getenv("LONGSHORE_FUZZ_KEEP");
  static longshore::fuzz::driver::Measured runner(__real_LLVMFuzzerTestOneInput, keep == nullptr ? "fuzz.input" : keep);
  if (!runner.Run(std::string(reinterpret_cast<const char*>(data), size))) std::abort();
  return 0;
}
