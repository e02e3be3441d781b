#include "serving-node/app/door_flags.h"

#include <CLI/CLI.hpp>

namespace longshore::app {

void DoorFlags::AddTo(CLI::App& app) {
  const auto add = [&app](const char* name, auto& value, const char* text) {
    return app.add_option(name, value, text)->group("Limits");
  };
  app.add_option("--grpc_socket_path", grpc_socket_path,
                 "a unix socket that answers as --port does, for its owner only")
      ->group("TensorFlow Serving's flags");
  app.add_flag("--enable_reflection", enable_reflection, "gRPC server reflection, for grpcurl and the like [false]")
      ->group("The node");
  add("--max_requests_in_flight", requests_in_flight_max,
      "predictions at once; more are refused with RESOURCE_EXHAUSTED or 429 [10000]")
      ->check(CLI::PositiveNumber);
  add("--grpc_max_receive_message_bytes", grpc_receive_bytes_max,
      "largest gRPC request; a larger one is refused [268435456]")
      ->check(CLI::PositiveNumber);
  add("--grpc_max_concurrent_streams", grpc_streams_max,
      "requests at once on one gRPC connection; more wait at the client [1000]")
      ->check(CLI::PositiveNumber);
  add("--grpc_max_connections", grpc_connections_max, "gRPC connections; more wait in the system's backlog [10000]")
      ->check(CLI::PositiveNumber);
  add("--grpc_memory_quota_bytes", grpc_memory_bytes_max,
      "memory of gRPC's buffers, near which it reads more slowly; 0: no limit [4294967296]");
  add("--rest_max_connections", rest_connections_max, "REST connections; more wait in the system's backlog [10000]")
      ->check(CLI::PositiveNumber);
  add("--rest_max_request_bytes", rest_body_bytes_max, "largest REST body; a larger one is answered 413 [268435456]")
      ->check(CLI::PositiveNumber);
  add("--rest_max_held_bytes", rest_bodies_bytes_max,
      "bytes of all REST bodies that are not answered yet, together; what goes beyond is answered 503 [4294967296]")
      ->check(CLI::PositiveNumber);
  add("--rest_min_bytes_per_second", rest_bytes_per_second_min,
      "a client that sends or reads more slowly, after ten seconds of grace, is disconnected [16384]")
      ->check(CLI::PositiveNumber);
  add("--rest_drain_timeout_ms", rest_drain_timeout_ms,
      "a REST body or answer that is on its way when the node leaves may take so long [30000]")
      ->check(CLI::PositiveNumber);
  add("--rest_gzip_min_bytes", rest_gzip_bytes_min,
      "answers from this size on are gzipped for clients that ask for it; 0: none [4096]");
}

}  // namespace longshore::app
