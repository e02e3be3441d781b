// Reads the input as an archive of numpy.savez.
#include "serving-node/golden_files/npz.h"
#include "tests/fuzz/fuzz.h"

namespace {
constexpr size_t kArrayBytesMax = size_t{64} << 10;
}

// A deflated array is unpacked in pieces of 64 KiB, into a string that doubles its size when it grows.
const longshore::fuzz::Allowance longshore::fuzz::kAllowance = {.per_byte = 8, .fixed_bytes = size_t{512} << 10};

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longshore;
  const auto arrays = golden_files::ParseNpz(fuzz::View(data, size), kArrayBytesMax);
  if (!arrays) return 0;
  size_t total = 0;
  for (const auto& [name, bytes] : *arrays) total += bytes.size();
  CHECK(total <= kArrayBytesMax);
  return 0;
}
