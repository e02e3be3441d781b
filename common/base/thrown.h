// Converts exceptions that libraries throw to errors. For the adapters that call those libraries.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"

namespace longshore {

// Returns the error for the exception that is being handled; call it in a catch block. The error is ResourceExhausted
// if memory ran out, and Internal with the exception's message otherwise. `what` names the failed operation: "a run of
// signature \"x\"". Never throws: without memory for the message, the error is ResourceExhausted with the message "out
// of memory".
tl::unexpected<Error> FromThrown(std::string_view what) noexcept;

// Like the function above, with `what` as a format: FromThrown("a run of signature \"{}\"", name). The arguments must
// not allocate: an expression that allocates could throw before the call.
template <typename Arg, typename... Args>
tl::unexpected<Error> FromThrown(fmt::format_string<const Arg&, const Args&...> format, const Arg& arg,
                                 const Args&... args) noexcept {
  std::string what = "the call";  // Short enough for std::string to store it without an allocation.
  try {
    what = fmt::format(format, arg, args...);
  } catch (...) {  // Ignored: the exception to report is the one that the caller handles.
  }
  return FromThrown(std::string_view(what));
}

}  // namespace longshore
