// The command line of longshore-controller as a value.
#pragma once

#include <optional>
#include <string>

#include "common/base/error.h"
#include "controller/app/controller.h"

namespace longshore::app {

struct Flags {
  enum class Verb { kHost, kStopFleets, kCluster };
  Verb verb = Verb::kHost;
  HostOptions host{};  // ParseFlags does not set `node_environment`.
  ClusterOptions cluster{};
  std::string log_level = "info";
};

// Returns nullopt if help or the version was requested and printed, and InvalidArgument with a message for the user if
// the command line is wrong.
Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv);

}  // namespace longshore::app
