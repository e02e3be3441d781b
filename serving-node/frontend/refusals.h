// Errors that the frontends of all protocols return.
#pragma once

#include <cstddef>

#include "common/base/error.h"

namespace longshore::frontend {

// The longest text of an error that an answer has. Names in a request, and so the errors about them, have any length.
inline constexpr size_t kErrorBytesMax = size_t{8} << 10;

// For a std::bad_alloc while a request is read, converted or answered.
inline tl::unexpected<Error> OutOfMemory() { return ResourceExhausted("memory does not suffice for this request"); }

// For a change of the models of a node in a fleet.
inline tl::unexpected<Error> ManagedByController() {
  return FailedPrecondition("the models of this node are managed by a controller: change the Model objects instead");
}

// For a change of the models of a node that runs with --enable_reload_requests=false.
inline tl::unexpected<Error> ReloadsDisabled() {
  return PermissionDenied(
      "this node accepts no reload requests (--enable_reload_requests=false): change its model config file instead");
}

}  // namespace longshore::frontend
