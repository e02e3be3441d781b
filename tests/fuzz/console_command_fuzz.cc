// Reads the input as the body with which a page of the web console gives a command.
#include <algorithm>

#include "common/base/error.h"
#include "controller/console/commands.h"
#include "tests/fuzz/fuzz.h"

// A JSON value of two bytes becomes an object of 16 bytes in an array that grows by doubling.
const longshore::fuzz::Allowance longshore::fuzz::kAllowance{.per_byte = 64, .fixed_bytes = size_t{64} << 10};

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longshore;
  const auto request = console::ParseCommand(fuzz::View(data, size));
  if (!request) {
    CHECK(!request.error().message.empty());
    return 0;
  }
  CHECK(!request->verb.empty() && request->verb.size() <= 32);
  CHECK(std::ranges::all_of(request->verb, [](char c) { return c >= 'a' && c <= 'z'; }));
  CHECK(request->seen && request->seen->generation >= 0 && request->seen->attempt >= 0);
  CHECK(request->seen->step >= 0 && request->seen->from >= 0 && request->to >= 0);
  return 0;
}
