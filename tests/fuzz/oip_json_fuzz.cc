// Reads the input as the body of a REST inference of the Open Inference Protocol. The first two bytes are the size of
// the JSON, which binary tensors follow; 65535 stands for the whole body.
#include "serving-node/frontend/oip/codec/json_request.h"
#include "tests/fuzz/fuzz.h"

// Strings of two bytes in the JSON become string objects of 32 bytes.
const longshore::fuzz::Allowance longshore::fuzz::kAllowance{.per_byte = 24, .fixed_bytes = size_t{64} << 10};

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longshore;
  constexpr size_t kWhole = 65535;
  constexpr int64_t kElementsMax = 100000;
  if (size < 2) return 0;
  const size_t json_bytes = static_cast<size_t>(data[0]) << 8 | data[1];
  frontend::oip::codec::InferRequest request;
  const Status read = frontend::oip::codec::ReadBody(fuzz::View(data + 2, size - 2),
                                                     json_bytes == kWhole ? std::nullopt : std::optional(json_bytes),
                                                     kElementsMax, &request);
  if (!read) return 0;
  for (const auto& [name, values] : request.inputs) CHECK(values.elements() <= kElementsMax);
  return 0;
}
