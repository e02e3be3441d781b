#include "serving-node/app/flags/listener_flags.h"

#include <CLI/CLI.hpp>

namespace longshore::app::flags {

void ListenerFlags::AddTo(CLI::App& app) {
  const auto add = [&app](const char* name, auto& value, const char* text) {
    return app.add_option(name, value, text)->group("Limits");
  };
  app.add_option("--grpc_socket_path", grpc_socket_path,
                 "a unix socket for gRPC in addition to --port; only its owner may connect")
      ->group("TensorFlow Serving's flags");
  app.add_flag("--enable_reflection", enable_reflection, "gRPC server reflection, for tools such as grpcurl [false]")
      ->group("The node");
  app.add_flag("--enable_reload_requests", enable_reload_requests,
               "accept HandleReloadConfigRequest, by which a client replaces the models of a standalone node [true]")
      ->group("The node");
  add("--max_requests_in_flight", requests_in_flight_max,
      "largest number of predictions in flight; further ones are refused with RESOURCE_EXHAUSTED or 429 [10000]")
      ->check(CLI::PositiveNumber);
  add("--max_held_answer_bytes", answer_bytes_max,
      "total bytes of the answers that are not written yet; if the total with a new answer exceeds this limit, the "
      "client of this answer gets UNAVAILABLE or 503 instead [4294967296]")
      ->check(CLI::PositiveNumber);
  add("--grpc_max_receive_message_bytes", grpc_receive_bytes_max,
      "largest gRPC request in bytes; a larger one is refused [268435456]")
      ->check(CLI::PositiveNumber);
  add("--grpc_max_concurrent_streams", grpc_streams_max,
      "largest number of requests in flight on one gRPC connection; further ones wait at the client. If a client "
      "resets requests and sends new ones, the new ones are refused while the runs of twice this number have not ended "
      "[1000]")
      ->check(CLI::PositiveNumber);
  add("--grpc_max_connections", grpc_connections_max,
      "largest number of open gRPC connections; further ones wait in the system's backlog [10000]")
      ->check(CLI::PositiveNumber);
  add("--grpc_memory_quota_bytes", grpc_memory_bytes_max,
      "total bytes of the gRPC requests that are not answered yet; a request that would exceed this is refused with "
      "RESOURCE_EXHAUSTED; 0: no limit [4294967296]");
  add("--grpc_min_bytes_per_second", grpc_bytes_per_second_min,
      "a call is cancelled if, after ten seconds of grace, its client reads the answer more slowly than this [262144]")
      ->check(CLI::PositiveNumber);
  add("--grpc_drain_timeout_ms", grpc_drain_timeout_ms,
      "the longest time that a gRPC request may take after its connection has reached --connection_age_max_ms or the "
      "node has begun to drain [600000]")
      ->check(CLI::PositiveNumber);
  add("--rest_max_connections", rest_connections_max,
      "largest number of open REST connections; further ones wait in the system's backlog [10000]")
      ->check(CLI::PositiveNumber);
  add("--rest_max_request_bytes", rest_body_bytes_max, "largest REST body in bytes; a larger one gets 413 [268435456]")
      ->check(CLI::PositiveNumber);
  add("--rest_max_held_bytes", rest_bodies_bytes_max,
      "total bytes of the REST bodies whose answers are not written yet; a request that would exceed this gets 503 "
      "[4294967296]")
      ->check(CLI::PositiveNumber);
  add("--rest_min_bytes_per_second", rest_bytes_per_second_min,
      "a REST client that sends or reads more slowly for longer than ten seconds is disconnected [16384]")
      ->check(CLI::PositiveNumber);
  add("--rest_drain_timeout_ms", rest_drain_timeout_ms,
      "time that a REST body or answer in transfer has to finish when the node shuts down [30000]")
      ->check(CLI::PositiveNumber);
  add("--rest_gzip_min_bytes", rest_gzip_bytes_min,
      "REST answers of at least this many bytes are gzipped for clients that accept it; 0: never [4096]");
}

}  // namespace longshore::app::flags
