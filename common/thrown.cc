#include "common/thrown.h"

#include <exception>
#include <new>

namespace longshore {
namespace {

tl::unexpected<Error> Described(std::string_view what) try { throw; } catch (const std::bad_alloc&) {
  return ResourceExhausted("memory does not suffice for {}", what);
} catch (const std::exception& thrown) {
  return Internal("{}: {}", what, thrown.what());
} catch (...) {
  return Internal("{}: an exception without a text", what);
}

}  // namespace

tl::unexpected<Error> FromThrown(std::string_view what) noexcept try { return Described(what); } catch (...) {
  // Short enough to lie within the std::string itself: it needs no memory.
  return tl::make_unexpected(Error{Code::kResourceExhausted, "out of memory"});
}

}  // namespace longshore
