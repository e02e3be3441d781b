// The limits on the size of a graph and on the nesting of its calls and bodies.
#pragma once

#include <cstddef>

namespace longshore::graph {

inline constexpr int kFunctionDepthMax = 64;  // How deep calls and bodies may be nested.
inline constexpr size_t kNodesMax = 1'000'000;
inline constexpr size_t kEdgesMax = 5'000'000;  // Inputs of nodes, and arguments and results of calls and bodies.
inline constexpr int kOutputsMax = 100'000;     // The outputs of one node.
// The number of inlined function calls. If every function calls the next one twice, the number of calls grows
// exponentially with the depth.
inline constexpr size_t kCallsMax = 100'000;
// The bytes of the names and attributes of all nodes, inlined copies included. A model file has at most half of this.
inline constexpr size_t kAttributeBytesMax = size_t{4} << 30;

}  // namespace longshore::graph
