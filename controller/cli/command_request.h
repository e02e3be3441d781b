// A command that a user wants to give to a rollout.
#pragma once

#include <cstdint>
#include <string>

namespace longshore::cli {

struct CommandRequest {
  std::string verb;  // "promote", "abort", "pause", "resume", "retry", "undo", "validate".
  std::string
      id{};        // "": a random one. With the id of an earlier command, its answer is returned and nothing is given.
  int64_t to = 0;  // For undo; 0: the version that served before.
};

}  // namespace longshore::cli
