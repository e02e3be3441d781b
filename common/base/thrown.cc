#include "common/base/thrown.h"

#include <exception>
#include <new>

namespace longshore {
namespace {

tl::unexpected<Error> ErrorOfCurrentException(std::string_view what) try { throw; } catch (const std::bad_alloc&) {
  return ResourceExhausted("memory does not suffice for {}", what);
} catch (const std::exception& thrown) {
  return Internal("{}: {}", what, thrown.what());
} catch (...) {
  return Internal("{}: an exception without a message", what);
}

}  // namespace

tl::unexpected<Error> FromThrown(std::string_view what) noexcept try {
  return ErrorOfCurrentException(what);
} catch (...) {
  // The message is short enough for std::string to store it without an allocation.
  return tl::make_unexpected(Error{Code::kResourceExhausted, "out of memory"});
}

}  // namespace longshore
