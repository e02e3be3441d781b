// How processes that accept connections from one listening socket divide the connections. Each process waits before it
// accepts. It waits longer if it has more connections, so the process with the fewest connections accepts first.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace longshore::process {

// What a process does when connections wait in the backlog of its listening socket.
struct AcceptTurn {
  std::chrono::microseconds wait{0};  // First it waits for this time,
  size_t connections_max = 1;         // and then it accepts at most this many.
};

// `connections`: the number of open connections that the process has accepted. `shared`: other processes may accept
// from the socket. If none can, there is nothing to wait for.
//
// Each connection adds 200 us to the wait, up to 5 ms. After the wait, a process accepts one connection for every full
// millisecond that it waited, and at least one: 500 connections per second or more. It never accepts more than a fifth
// of the number it has at once, because on a busy machine a process with fewer connections may begin its turn late.
inline AcceptTurn AcceptTurnOf(size_t connections, bool shared) {
  using std::chrono::microseconds;
  constexpr microseconds kWaitPerConnection{200};
  constexpr microseconds kWaitMax{5000};
  constexpr microseconds kWaitPerAccept{1000};
  constexpr size_t kAcceptsAlone = 64;
  if (!shared) return {.wait = microseconds(0), .connections_max = kAcceptsAlone};
  const auto steps = static_cast<int64_t>(std::min<size_t>(connections, kWaitMax / kWaitPerConnection));
  const microseconds wait = kWaitPerConnection * steps;
  return {.wait = wait, .connections_max = static_cast<size_t>(std::max<int64_t>(1, wait / kWaitPerAccept))};
}

}  // namespace longshore::process
