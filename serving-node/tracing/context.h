// The context of a trace as HTTP headers and gRPC metadata carry it: W3C Trace Context, level 1
// (https://www.w3.org/TR/trace-context-1/). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace longshore::tracing {

inline constexpr std::string_view kTraceparent = "traceparent";
inline constexpr std::string_view kTracestate = "tracestate";

// A longer tracestate is not passed on. The recommendation asks for at least 512 characters.
inline constexpr size_t kStateBytesMax = 4096;

// The 16 bytes of the id, as two big-endian numbers; not both are 0.
struct TraceId {
  uint64_t high = 0;
  uint64_t low = 0;

  friend bool operator==(const TraceId&, const TraceId&) = default;
};
std::string ToString(const TraceId& id);  // 32 lower-case hexadecimal digits.

// A span and its trace.
struct Context {
  TraceId trace_id;
  uint64_t span_id = 0;  // Not 0.
  bool sampled = false;
  // The value of tracestate, without blanks around its members; "" if there is none. Printable ASCII.
  std::string state{};

  friend bool operator==(const Context&, const Context&) = default;
};

// The headers of a request. More than one traceparent is not valid; several headers tracestate are one list.
struct Headers {
  std::span<const std::string_view> traceparents;
  std::span<const std::string_view> tracestates;
};

// Returns the span of the caller; nullopt if the headers name none, or if traceparent is not valid. A tracestate that
// is not valid, or longer than kStateBytesMax, is left out.
std::optional<Context> ParseContext(const Headers& headers);

// Returns the traceparent that makes the span the parent of the receiver's span:
// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".
std::string FormatTraceparent(const Context& context);

}  // namespace longshore::tracing
