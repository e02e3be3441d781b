// What the command line does to the store. Every call may be repeated; none overwrites what somebody else just wrote.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "controller/api/parse.h"
#include "controller/store/store.h"

namespace longshore::cli {

Result<api::Model> ToModel(const store::Object& object);
Result<api::ServingFleet> ToFleet(const store::Object& object);

// Applies every object of a manifest, in its order, and says what became of each: "created", "changed", "unchanged".
struct Applied {
  api::Key key;
  std::string what;
};
Result<std::vector<Applied>> ApplyManifest(store::Store& store, const std::string& file, const std::string& text,
                                           api::Home home = api::Home::kHost,
                                           const std::string& namespace_ = "default");

// Deletes this very object and no later one of its name. NotFound with the names that there are.
Status DeleteObject(store::Store& store, const api::Key& key);

// Writes the command for the rollout that is in the store now and waits until the controller has answered it.
// DeadlineExceeded when nobody took it in time: the command is withdrawn. Returns the controller's words.
Result<std::string> SendCommand(store::Store& store, const api::Key& model, const std::string& verb,
                                std::chrono::milliseconds patience);

// Whether the controller's words about a command are a refusal ("promote: refused: ...").
bool IsRefusal(const std::string& command_result);

// The object, or NotFound naming what there is of its kind.
Result<store::Object> GetOrHint(store::Store& store, const api::Key& key);

inline constexpr int kConflictRetriesMax = 20;

}  // namespace longshore::cli
