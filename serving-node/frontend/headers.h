// Headers of answers: always sent by REST, and by gRPC in a fleet.
#pragma once

namespace longshore::frontend {

// The version that answered.
inline constexpr const char* kVersionHeader = "x-longshore-version";
// The node that received the client's request.
inline constexpr const char* kNodeHeader = "x-longshore-node";

// The delay after which a gRPC client may retry, in milliseconds; obeyed by gRPC's built-in retries.
inline constexpr const char* kRetryHeader = "grpc-retry-pushback-ms";

}  // namespace longshore::frontend
