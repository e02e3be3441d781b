// The limits of one request. A request that exceeds one is rejected.
//
// Each limit is checked before the memory is allocated. Not here: the size of a body, which the listeners limit;
// nesting depth, the number of header fields and the size of sparse values, whose limits are fixed because no honest
// client comes near them; and the time, which the request's deadline limits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace longshore {

struct Budget {
  size_t inflated_bytes_max = size_t{100} << 20;  // Size of a gzip body after decompression.
  int64_t elements_max = int64_t{1} << 28;        // All input tensors together.
  size_t run_bytes_max = size_t{2} << 30;         // Memory that a run may use in addition to its inputs.
};

}  // namespace longshore
