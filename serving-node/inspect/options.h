// The parsed command line of `longshore-model`.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/engine/engine.h"

namespace longshore::inspect {

enum class Verb { kShow, kCheck, kExplain, kRun, kOps };

struct Options {
  Verb verb = Verb::kShow;
  Path dir;
  std::vector<std::string> tags;  // Empty: all tag sets for show, {"serve"} for the other verbs.
  bool json = false;              // For show and explain.
  bool ops = false;               // For check.
  bool markdown = false;          // For ops.
  int64_t batch = 1;              // For explain, in rows.
  // For run and explain.
  std::string signature;            // "": the one in the JSON, or serving_default.
  std::vector<std::string> inputs;  // "x=FILE.npy"
  std::string inputs_file;          // JSON; "-": standard input.
  std::vector<std::string> outputs;
  std::set<std::string> passes_off;
  bool deterministic = false;
  // For run.
  Path out;  // A folder for .npy files; "": JSON to standard output.
  int repeat = 1;
  int threads = 1;
  bool profile = false;

  std::vector<std::string> tags_or_serve() const { return tags.empty() ? std::vector<std::string>{"serve"} : tags; }
  engine::LoadOptions load() const { return {.tags = tags_or_serve(), .deterministic = deterministic}; }
};

// Exit codes, for scripts.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // For check: the model is not supported.
inline constexpr int kExitUsage = 2;

// Returns nullopt after printing the help or the version. InvalidArgument, with a message for the user, if the command
// line is not valid.
Result<std::optional<Options>> ParseOptions(int argc, const char* const* argv);

}  // namespace longshore::inspect
