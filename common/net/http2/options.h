// The limits of a connection, and the options of a server.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/net/tls/identity.h"

namespace longshore::http2 {

class Stream;

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using std::chrono::milliseconds;

// How long a client may take to read bytes that were written for it: `grace`, plus one second for every
// bytes_per_second_min bytes.
struct AnswerTime {
  milliseconds grace{10000};
  size_t bytes_per_second_min = size_t{256} << 10;

  milliseconds For(size_t bytes) const {
    return grace + milliseconds(bytes * 1000 / (bytes_per_second_min == 0 ? 1 : bytes_per_second_min));
  }
};

// The limits of one connection.
struct Limits {
  uint32_t streams_max = 1000;                 // Open at the same time; others wait at the client.
  size_t header_bytes_max = size_t{64} << 10;  // Names and values of a request, and 32 bytes for each field (RFC 9113).
  size_t heads_bytes_max = size_t{8} << 20;    // The heads of all open requests, counted in the same way.
  uint32_t stream_window_bytes = 1 << 20;      // The client may send so much of one body before it is consumed.
  int32_t connection_window_bytes = 8 << 20;   // The client may send so much of all bodies before it is received.
  size_t bytes_max = size_t{512} << 20;        // Bodies that were received, and answers that were not sent.
  // If so many bytes of frames wait for the socket, the connection is read from once each time that the socket has
  // accepted some of them. So a client that does not read cannot send.
  size_t unsent_bytes_max = size_t{128} << 10;
  // A strike is a frame that costs the client less than the server, or a reset after which the server got nothing for
  // its work: each PING, SETTINGS, PRIORITY and empty DATA frame, each answer to a ping that was not sent, each stream
  // that the server resets because of an invalid frame, each stream that begins after GOAWAY, and the reset of a stream
  // that is younger than a second and whose answer the server has not begun to send. A reset near the deadline of its
  // call is not a strike, nor is the reset of an answered or an unknown stream, nor a stream that the server refuses,
  // up to `strikes_max` of them per second.
  //
  // A connection may have `strikes_max` strikes at once. `strikes_per_second` of them are forgiven, and one more for
  // each completed answer; the credit for answers is at most 10 * strikes_max. Above the limit, the client gets GOAWAY,
  // and running streams may finish; above 2 * strikes_max the connection is closed.
  double strikes_max = 1000;
  double strikes_per_second = 200;
  // A client that sends a ping earlier than this after the one before, three times without an answer in between, is
  // disconnected, as by gRPC.
  milliseconds ping_interval_min{10000};
  AnswerTime answer_time = {};  // A stream ends if its client does not read what was sent within this time.
};

// The client of a connection.
struct Peer {
  std::string address;                 // As gRPC writes it: "ipv4:127.0.0.1:1234", "ipv6:[::1]:1234" or "unix:".
  std::vector<std::string> dns_names;  // The names in its certificate, if the server has verified it.
};

// Makes the stream of a request that begins. Runs on the connection's strand.
using MakeStream = std::function<std::shared_ptr<Stream>(const std::shared_ptr<const Peer>& peer)>;

struct Options {
  std::string address = {};    // "host:port" (port 0: any free one) or "unix:/path". Unused with listen_fd.
  int listen_fd = -1;          // A listening socket to use instead of `address`; the server owns it.
  int more_fd = -1;            // A second listening socket, such as a unix socket; the server owns it.
  bool shares_socket = false;  // Other processes may accept from listen_fd (common/os/process/accept_turn.h).
  std::shared_ptr<tls::Identities> tls = {};  // Null: plaintext. Every handshake takes the current identity.
  int threads = 1;
  Limits limits = {};
  size_t connections_max = 10000;         // Further connections wait in the backlog of the system.
  size_t bytes_max = size_t{4} << 30;     // Received bodies of all connections together.
  milliseconds handshake_timeout{10000};  // For TLS and the client's first frame.
  milliseconds idle_timeout{0};           // A connection without streams is closed after this time. 0: never.
  // If nothing was received for keepalive_time, the server sends a ping, and closes the connection if nothing is
  // received for keepalive_timeout after it. gRPC's defaults.
  milliseconds keepalive_time{7200000};
  milliseconds keepalive_timeout{20000};
  // An older connection is asked to end, so that clients spread over new processes: it gets no new streams, and is
  // closed when its last stream has ended, at the latest after the grace. The age of each connection varies randomly by
  // up to 10 %. 0: no limit.
  milliseconds connection_age_max{0};
  milliseconds connection_age_grace{600000};
};

}  // namespace longshore::http2
