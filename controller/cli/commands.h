// What the command line does to the store. Every call may be repeated; none overwrites what somebody else just wrote.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "controller/api/parse.h"
#include "controller/cli/text/diff.h"
#include "controller/store/store.h"

namespace longshore::cli {

// Text that people wrote, and what it is meant for.
struct Manifest {
  std::string file;  // Only for messages.
  std::string text;
  api::Home home = api::Home::kHost;
  std::string namespace_ = "default";  // Of objects that name none.
};

enum class ApplyMode { kWrite, kDryRun };

struct Applied {
  std::optional<store::Object> before;
  store::Object after;
};

// Applies every object of a manifest, in its order; a dry run finds out what that would give, refusals too.
Result<std::vector<Applied>> ApplyManifest(store::Store& store, const Manifest& manifest, ApplyMode mode);

// Of labels, annotations and spec.
std::vector<Difference> DifferencesOf(const Applied& applied);
// "created", "changed" or "unchanged".
std::string WhatBecameOf(const Applied& applied);

// Deletes this very object and no later one of its name. NotFound with the names that there are.
Status DeleteObject(store::Store& store, const api::Key& key);

// Writes the command for the rollout that is in the store now and waits until the controller has answered it.
// DeadlineExceeded when nobody took it in time: the command is withdrawn. Returns the controller's words.
Result<std::string> SendCommand(store::Store& store, const api::Key& model, const std::string& verb,
                                std::chrono::milliseconds patience);

// Whether the controller's words about a command are a refusal ("promote: refused: ...").
bool IsRefusal(const std::string& command_result);

inline constexpr int kConflictRetriesMax = 20;

}  // namespace longshore::cli
