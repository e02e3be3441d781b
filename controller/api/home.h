// The two modes in which Longshore runs, as a manifest sees them.
#pragma once

namespace longshore::api {

// The mode that a manifest is for; a field that has no effect there is refused with the reason. kAny accepts the fields
// of both, for objects that a store has accepted already.
enum class Home { kAny, kHost, kCluster };

}  // namespace longshore::api
