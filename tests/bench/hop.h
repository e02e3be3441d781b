// Measures what TLS costs on a hop between two nodes. The client is the node's own forwarder and the server is the
// node's own server with a service that sends requests back, once with certificates and once without.
#pragma once

#include "common/base/error.h"

namespace longshore::bench {

struct HopCost {
  double plain_us = 0;  // Median latency when calls run one at a time.
  double tls_us = 0;
  double plain_cpu_us = 0;  // Processor time per call, client and server together, when many calls run at once.
  double tls_cpu_us = 0;
  double plain_connect_ms = 0;  // Latency of the first call on a connection.
  double tls_connect_ms = 0;
};

// Measures requests and answers of `floats` float32 values each. Rounds with plain text and with TLS alternate.
Result<HopCost> MeasureHop(int floats);

}  // namespace longshore::bench
