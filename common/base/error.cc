#include "common/base/error.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace longshore {

std::string_view CodeName(Code code) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto index = static_cast<size_t>(code);
  return index < kNames.size() ? kNames[index] : "UNKNOWN";
}

std::string ToString(const Error& error) { return fmt::format("{}: {}", CodeName(error.code), error.message); }

tl::unexpected<Error> Prefixed(const Error& error, std::string_view where) {
  return tl::make_unexpected(Error{error.code, fmt::format("{}: {}", where, error.message)});
}

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}

}  // namespace longshore
