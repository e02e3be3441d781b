// What an answer tells beside its body: by REST always, by gRPC in a fleet.
#pragma once

namespace longshore::frontend {

// The version that answered.
inline constexpr const char* kVersionHeader = "x-longshore-version";
// The node that the client talked to.
inline constexpr const char* kNodeHeader = "x-longshore-node";

// When a client of gRPC may try again, in milliseconds: gRPC's own retries obey it.
inline constexpr const char* kRetryHeader = "grpc-retry-pushback-ms";

}  // namespace longshore::frontend
