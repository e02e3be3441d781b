// Names of the headers of answers. A node of a fleet sends x-longshore-node and x-longshore-version. A standalone node
// sends only x-longshore-version with REST: the answers of gRPC contain the version.
#pragma once

namespace longshore::frontend {

// The version of the model that answered.
inline constexpr const char* kVersionHeader = "x-longshore-version";
// The node that received the client's request.
inline constexpr const char* kNodeHeader = "x-longshore-node";

// The delay in milliseconds after which a gRPC client may retry. gRPC's built-in retries obey it.
inline constexpr const char* kRetryHeader = "grpc-retry-pushback-ms";

}  // namespace longshore::frontend
