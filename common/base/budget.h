// The limits of one request. A request that exceeds one of them is rejected.
//
// Each limit is checked before the memory is allocated. Three kinds of limits are elsewhere. The listeners limit the
// size of a body. Nesting depth, the number of header fields and the size of sparse values have fixed limits, because
// no honest client comes near them. The request's deadline limits its time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace longshore {

struct Budget {
  size_t inflated_bytes_max = size_t{100} << 20;  // Size of a gzip body after decompression.
  int64_t elements_max = int64_t{1} << 28;        // The elements of all input tensors together.
  size_t run_bytes_max = size_t{2} << 30;         // Memory that a run may use in addition to its inputs.
};

}  // namespace longshore
