// Reads the input as a .npy file of numpy. An array that is read and written again must read back equal.
#include "serving-node/tensor/npy.h"
#include "tests/fuzz/fuzz.h"

// A text of one byte becomes a std::string of 32 bytes, and the file is read twice.
const longshore::fuzz::Allowance longshore::fuzz::kAllowance = {.per_byte = 96, .fixed_bytes = size_t{64} << 10};

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longshore;
  const auto read = tensor::ParseNpy(fuzz::View(data, size));
  if (!read) return 0;
  const auto written = tensor::ToNpy(*read);
  if (!written) return 0;
  const auto again = tensor::ParseNpy(*written);
  CHECK(again && again->type() == read->type() && again->shape() == read->shape());
  CHECK(*tensor::ToNpy(*again) == *written);
  return 0;
}
