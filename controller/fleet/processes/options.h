// What a fleet of processes listens on, and how its nodes are started.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/path.h"

namespace longshore::fleet::processes {

struct Spec {
  std::string fleet;  // "namespace/name".
  int grpc_port = 0;  // 0: any free port, which Addresses reports.
  int rest_port = 0;
  Duration connection_age_max{0};
};

struct ProcessOptions {
  Path state_dir{};
  Path node_binary{};
  std::string controller{};        // The address that nodes dial: "unix:<state>/controller.sock".
  std::string host = "127.0.0.1";  // The address on which fleets listen.
  std::string node_log_level = "info";
  std::vector<std::string> node_environment{};     // "NAME=value"; nodes inherit no other variables.
  std::vector<std::string> node_flags{};           // "NAME=value" or "NAME"; "{node}" is replaced by the node's name.
  std::chrono::milliseconds backoff_min{200};      // The first pause before a crashed node is restarted.
  std::chrono::milliseconds backoff_max{10000};    // The pause doubles with each crash up to this maximum.
  std::chrono::milliseconds healthy_after{60000};  // A node that ran for this time begins with the first pause.
  int handover_timeout_ms = 1000;
  size_t nodes_max = 100;
};

}  // namespace longshore::fleet::processes
