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
  bool json = false;              // For show and explain: print JSON instead of text.
  bool ops = false;               // For check: list every op.
  bool markdown = false;          // For ops: print Markdown.
  int64_t batch = 1;              // For explain: the number of rows.
  // The next six members are for run and explain.
  std::string signature;            // "": the signature that the JSON names, or serving_default.
  std::vector<std::string> inputs;  // Each has the form "x=FILE.npy".
  std::string inputs_file;          // The name of a JSON file; "-": standard input.
  std::vector<std::string> outputs;
  std::set<std::string> passes_off;
  bool deterministic = false;
  // The next members are for run.
  Path out;  // The folder for .npy files; "": write JSON to standard output.
  int repeat = 1;
  int threads = 1;
  bool profile = false;

  std::vector<std::string> tags_or_serve() const { return tags.empty() ? std::vector<std::string>{"serve"} : tags; }
  engine::LoadOptions load() const { return {.tags = tags_or_serve(), .deterministic = deterministic}; }
};

// Exit codes, for scripts.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // For check, also: the model is not supported.
inline constexpr int kExitUsage = 2;

// Returns nullopt after printing the help or the version; InvalidArgument, with a message for the user, if the command
// line is not valid.
Result<std::optional<Options>> ParseOptions(int argc, const char* const* argv);

}  // namespace longshore::inspect
