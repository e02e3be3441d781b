// A command that a user wants to give to a rollout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace longshore::cli::command {

// The state of the Model that a user looked at. The controller refuses a command for another state.
struct SeenRollout {
  int64_t generation = 0;
  int attempt = 0;
  int step = 0;
  int64_t from = 0;  // For undo: the version to leave; 0 for other commands.
};

struct CommandRequest {
  std::string verb;  // "promote", "abort", "pause", "resume", "retry", "undo", "validate".
  std::string id{};  // "": a random one. With the id of an earlier command, the answer is that of the earlier command.
  int64_t to = 0;    // For undo; 0: the version that served before.
  std::string by{};  // The name of the person that gives it; "": not known.
  std::optional<SeenRollout> seen{};  // nullopt: the state in the store when the command is written.
};

}  // namespace longshore::cli::command
