// Reads each line of the input as a header: the first is traceparent, the others are tracestate. Reads the whole input
// as a list of names and values, too.
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "serving-node/tracing/context.h"
#include "serving-node/tracing/otlp/pairs.h"
#include "tests/fuzz/fuzz.h"

// An entry of the list, "a=,", becomes two string objects.
const longshore::fuzz::Allowance longshore::fuzz::kAllowance{.per_byte = 64, .fixed_bytes = size_t{64} << 10};

namespace {

using namespace longshore;

void CheckContext(const tracing::Context& context) {
  CHECK(context.span_id != 0);
  CHECK(context.trace_id != tracing::TraceId());
  CHECK(context.state.size() <= tracing::kStateBytesMax);
  CHECK(std::ranges::all_of(context.state, [](char c) { return c >= ' ' && c <= '~'; }));
  const std::string written = tracing::FormatTraceparent(context);
  const std::array<std::string_view, 1> parents = {written}, states = {context.state};
  const auto again = tracing::ParseContext({.traceparents = parents, .tracestates = states});
  CHECK(again == context);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input = fuzz::View(data, size);
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin <= input.size();) {
    const size_t end = std::min(input.find('\n', begin), input.size());
    lines.push_back(input.substr(begin, end - begin));
    begin = end + 1;
  }
  const std::span<const std::string_view> all = lines;
  const auto context = tracing::ParseContext({.traceparents = all.first(1), .tracestates = all.subspan(1)});
  if (context) CheckContext(*context);
  const auto pairs = tracing::otlp::ParsePairs(input);
  if (!pairs) return 0;
  for (const auto& [name, value] : *pairs) CHECK(!name.empty());
  return 0;
}
