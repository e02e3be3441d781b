// What every answer tells beside its body, on both protocols.
#pragma once

namespace longshore::frontend {

// The version that answered.
inline constexpr const char* kVersionHeader = "x-longshore-version";
// The node that the client talked to.
inline constexpr const char* kNodeHeader = "x-longshore-node";

}  // namespace longshore::frontend
