// Errors as values. A function that can fail for a reason outside the program returns Result<T> or Status.
//
//   Result<Model> Load(const Path& path) {
//     ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
//     RETURN_IF_ERROR(Check(bytes));
//     if (bytes.empty()) return DataLoss("{} is empty", path.string());
//     return Parse(bytes);
//   }
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace longshore {

// The canonical codes, with gRPC's numbers (google/rpc/code.proto).
enum class Code {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// Returns "NOT_FOUND" for kNotFound, and so on.
std::string_view CodeName(Code code);

// A code for programs, and a message for people. The message says what failed, names the object, and gives the reason.
struct Error {
  Code code = Code::kUnknown;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

// Returns the name of the code and the message: "NOT_FOUND: no such file: /x".
std::string ToString(const Error& error);

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

template <typename... Args>
tl::unexpected<Error> Fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::make_unexpected(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

#define LONGSHORE_DEFINE_ERROR(Name)                                               \
  template <typename... Args>                                                      \
  tl::unexpected<Error> Name(fmt::format_string<Args...> format, Args&&... args) { \
    return Fail(Code::k##Name, format, std::forward<Args>(args)...);               \
  }
LONGSHORE_DEFINE_ERROR(Cancelled)
LONGSHORE_DEFINE_ERROR(Unknown)
LONGSHORE_DEFINE_ERROR(InvalidArgument)
LONGSHORE_DEFINE_ERROR(DeadlineExceeded)
LONGSHORE_DEFINE_ERROR(NotFound)
LONGSHORE_DEFINE_ERROR(AlreadyExists)
LONGSHORE_DEFINE_ERROR(PermissionDenied)
LONGSHORE_DEFINE_ERROR(ResourceExhausted)
LONGSHORE_DEFINE_ERROR(FailedPrecondition)
LONGSHORE_DEFINE_ERROR(Aborted)
LONGSHORE_DEFINE_ERROR(OutOfRange)
LONGSHORE_DEFINE_ERROR(Unimplemented)
LONGSHORE_DEFINE_ERROR(Internal)
LONGSHORE_DEFINE_ERROR(Unavailable)
LONGSHORE_DEFINE_ERROR(DataLoss)
#undef LONGSHORE_DEFINE_ERROR

// Returns the same error with `where` in front of its message: "model "digits" version 3: no saved_model.pb".
tl::unexpected<Error> Prefixed(const Error& error, std::string_view where);

}  // namespace longshore

#define LONGSHORE_CONCAT_INNER(a, b) a##b
#define LONGSHORE_CONCAT(a, b) LONGSHORE_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expression)                                                                    \
  do {                                                                                                 \
    if (auto status_ = (expression); !status_) return tl::make_unexpected(std::move(status_.error())); \
  } while (false)

#define ASSIGN_OR_RETURN(declaration, expression) \
  LONGSHORE_ASSIGN_OR_RETURN(LONGSHORE_CONCAT(result_, __LINE__), declaration, expression)
#define LONGSHORE_ASSIGN_OR_RETURN(result, declaration, expression)   \
  auto result = (expression);                                         \
  if (!result) return tl::make_unexpected(std::move(result.error())); \
  declaration = std::move(*result)

// Checks an invariant of this program, never its input. If `condition` is false, prints the position in the source and
// aborts.
#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) ::longshore::CheckFailed(#condition, __FILE__, __LINE__); \
  } while (false)

namespace longshore {
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
}  // namespace longshore
