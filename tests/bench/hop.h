// What TLS costs a hop between two nodes: the node's own forwarder against an echo, with certificates and without.
#pragma once

#include "common/error.h"

namespace longshore::bench {

struct HopCost {
  double plain_us = 0;  // Medians of one call after the other.
  double tls_us = 0;
  double plain_cpu_us = 0;  // Of both ends together, for each of many calls at once.
  double tls_cpu_us = 0;
  double plain_connect_ms = 0;  // The first call on a connection.
  double tls_connect_ms = 0;
};

// Of requests, and answers, of so many floats. Plain text and TLS take turns.
Result<HopCost> MeasureHop(int floats);

}  // namespace longshore::bench
