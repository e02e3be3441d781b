// The command line of `longshore-model` as a value.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "serving-node/engine/engine.h"

namespace longshore::inspect {

enum class Verb { kShow, kCheck, kExplain, kRun, kOps };

struct Options {
  Verb verb = Verb::kShow;
  Path dir;
  std::vector<std::string> tags;  // Empty: of show all tag sets, of the others {"serve"}.
  bool json = false;              // Of show and explain.
  bool ops = false;               // Of check.
  bool markdown = false;          // Of ops.
  int64_t batch = 1;              // Of explain.
  // Of run and explain.
  std::string signature;            // "": what the JSON says, or serving_default.
  std::vector<std::string> inputs;  // "x=FILE.npy"
  std::string inputs_file;          // JSON; "-": standard input.
  std::vector<std::string> outputs;
  std::set<std::string> passes_off;
  bool deterministic = false;
  // Of run.
  Path out;  // A folder for .npy files; "": JSON to standard output.
  int repeat = 1;
  int threads = 1;
  bool profile = false;

  std::vector<std::string> tags_or_serve() const { return tags.empty() ? std::vector<std::string>{"serve"} : tags; }
  engine::LoadOptions load() const { return {.tags = tags_or_serve(), .deterministic = deterministic}; }
};

// Exit codes, so that scripts can tell what happened.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // Of check: not supported.
inline constexpr int kExitUsage = 2;

// nullopt: help was asked for and printed. InvalidArgument when it cannot be understood, ready to be shown.
Result<std::optional<Options>> ParseOptions(int argc, const char* const* argv);

}  // namespace longshore::inspect
