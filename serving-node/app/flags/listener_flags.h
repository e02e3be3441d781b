// The flags of the client listeners: the unix socket, gRPC reflection, and the limits on connections, bytes and
// requests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/path.h"

namespace CLI {
class App;
}

namespace longshore::app::flags {

struct ListenerFlags {
  Path grpc_socket_path;                      // A unix socket for gRPC, in addition to --port.
  bool enable_reflection = false;             // gRPC server reflection.
  bool enable_reload_requests = true;         // Whether clients may replace the models (HandleReloadConfigRequest).
  size_t requests_in_flight_max = 10000;      // gRPC and REST together; further requests are refused at once.
  size_t answer_bytes_max = size_t{4} << 30;  // Limit for all answers that are not written yet, gRPC and REST together.
  int grpc_receive_bytes_max = 256 << 20;
  int grpc_streams_max = 1000;  // Limit per connection.
  size_t grpc_connections_max = 10000;
  size_t grpc_memory_bytes_max = size_t{4} << 30;  // 0: no limit.
  size_t grpc_bytes_per_second_min = 262144;       // Minimum rate at which a client reads an answer.
  int64_t grpc_drain_timeout_ms = 600000;
  size_t rest_connections_max = 10000;
  size_t rest_body_bytes_max = size_t{256} << 20;  // Limit for one body as sent, before decompression.
  size_t rest_bodies_bytes_max = size_t{4} << 30;  // Limit for the bodies of all requests that are not answered yet.
  size_t rest_gzip_bytes_min = 4096;               // Smaller answers are not compressed; 0: never compress.
  size_t rest_bytes_per_second_min = 16384;
  int64_t rest_drain_timeout_ms = 30000;

  void AddTo(CLI::App& app);
};

}  // namespace longshore::app::flags
