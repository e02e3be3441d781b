// What TLS costs a hop between two nodes: the node's own forwarder against an echo, with certificates and without.
#pragma once

#include "common/base/error.h"

namespace longshore::bench {

struct HopCost {
  double plain_us = 0;  // Median latency when calls run one at a time.
  double tls_us = 0;
  double plain_cpu_us = 0;  // Processor time per call, client and server together, when many calls run at once.
  double tls_cpu_us = 0;
  double plain_connect_ms = 0;  // The first call on a connection.
  double tls_connect_ms = 0;
};

// Measures requests and answers of `floats` float32 values each. Plain text and TLS take turns.
Result<HopCost> MeasureHop(int floats);

}  // namespace longshore::bench
