#include "common/thrown.h"

#include <exception>
#include <new>

namespace longshore {

tl::unexpected<Error> FromThrown(std::string_view what) try { throw; } catch (const std::bad_alloc&) {
  return ResourceExhausted("memory does not suffice for {}", what);
} catch (const std::exception& thrown) {
  return Internal("{}: {}", what, thrown.what());
} catch (...) {
  return Internal("{}: an exception without a text", what);
}

}  // namespace longshore
