// What one request may take of a node before it is refused: given to every part that reads a request or computes on it.
//
// How many bytes it may have is the doors' own limit. Each of these is a plain limit, checked before the memory is
// taken. How deep a body may nest, how many header fields it may have and what values that are not there may take are
// fixed: no honest client comes near. How long a request may take is its deadline.
#pragma once

#include <cstddef>
#include <cstdint>

namespace longshore {

struct Budget {
  size_t inflated_bytes_max = size_t{100} << 20;  // Of a gzipped body, unpacked.
  int64_t elements_max = int64_t{1} << 28;        // Of all input tensors.
  size_t run_bytes_max = size_t{2} << 30;         // What a run may hold beside its inputs.
};

}  // namespace longshore
