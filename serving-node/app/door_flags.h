// What clients of a node find at its doors, and how much they may ask at once: connections, bytes, requests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/file.h"

namespace CLI {
class App;
}

namespace longshore::app {

struct DoorFlags {
  Path grpc_socket_path;                  // A unix socket beside --port.
  bool enable_reflection = false;         // gRPC tells its services and messages to whoever asks.
  size_t requests_in_flight_max = 10000;  // On both ports together; more are refused at once.
  int grpc_receive_bytes_max = 256 << 20;
  int grpc_streams_max = 1000;  // Per connection.
  size_t grpc_connections_max = 10000;
  size_t grpc_memory_bytes_max = size_t{4} << 30;  // 0: no limit.
  size_t rest_connections_max = 10000;
  size_t rest_body_bytes_max = size_t{256} << 20;  // As sent.
  size_t rest_bodies_bytes_max = size_t{4} << 30;  // Of all requests that are not answered.
  size_t rest_gzip_bytes_min = 4096;               // Of an answer; 0: none is gzipped.
  size_t rest_bytes_per_second_min = 16384;
  int64_t rest_drain_timeout_ms = 30000;

  void AddTo(CLI::App& app);
};

}  // namespace longshore::app
