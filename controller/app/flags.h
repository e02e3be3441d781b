// The command line of longshore-controller as a value.
#pragma once

#include <optional>
#include <string>

#include "common/error.h"
#include "controller/app/controller.h"

namespace longshore::app {

struct Flags {
  enum class Verb { kHost, kStopFleets, kCluster };
  Verb verb = Verb::kHost;
  HostOptions host{};  // Without the nodes' environment.
  ClusterOptions cluster{};
  std::string log_level = "info";
};

// nullopt: help was asked for and printed. InvalidArgument when it cannot be understood, ready to be shown.
Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv);

}  // namespace longshore::app
