// The modes of Longshore for which a manifest can be written.
#pragma once

namespace longshore::api {

// The mode that a manifest is for: standalone on one host, or in a cluster. A field that has no effect in this mode is
// rejected with the reason. kAny accepts the fields of both modes, for objects that a store has accepted already.
enum class Home { kAny, kHost, kCluster };

}  // namespace longshore::api
