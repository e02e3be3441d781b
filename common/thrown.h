// Exceptions of libraries as errors of ours, at the seams where they end.
#pragma once

#include <string>
#include <string_view>

#include "common/error.h"

namespace longshore {

// The error for the exception that is being handled, to be called in a catch block: ResourceExhausted where memory ran
// out, Internal with the exception's text for every other. `what` names what was done: "a run of signature \"x\"".
// Never throws: without memory for the text, the error is ResourceExhausted with the text "out of memory".
tl::unexpected<Error> FromThrown(std::string_view what) noexcept;

// The same, with `what` as a format: FromThrown("a run of signature \"{}\"", name). The arguments must exist already:
// an expression that allocates would throw before the call.
template <typename Arg, typename... Args>
tl::unexpected<Error> FromThrown(fmt::format_string<const Arg&, const Args&...> format, const Arg& arg,
                                 const Args&... args) noexcept {
  std::string what = "the call";  // Short enough to need no memory.
  try {
    what = fmt::format(format, arg, args...);
  } catch (...) {  // The exception to report is the one that the caller handles.
  }
  return FromThrown(std::string_view(what));
}

}  // namespace longshore
