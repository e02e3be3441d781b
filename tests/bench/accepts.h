// Measures how many new connections per second a server accepts and serves.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "common/base/error.h"

namespace longshore::bench {

// What a client sends after it has connected, so that the server sends something back.
inline constexpr std::string_view kGrpcOpening = {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33};
inline constexpr std::string_view kRestOpening = "GET /v1/models/none HTTP/1.1\r\nHost: localhost\r\n\r\n";

struct Accepts {
  uint16_t port = 0;  // On 127.0.0.1.
  std::string_view opening;
  int clients = 8;  // Each opens a connection, sends the opening, waits for the first bytes, closes, and repeats.
  int kept = 50;    // Connections that stay open meanwhile, as those of other clients do.
  std::chrono::milliseconds warm_up{500};
  std::chrono::milliseconds measured{2000};
};

// Returns the number of connections per second. Unavailable if a connection fails.
Result<double> MeasureAccepts(const Accepts& accepts);

}  // namespace longshore::bench
