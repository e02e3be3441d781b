// Commands of the pages: the same ones as those of `longshore`, through the same queue in the status of the Model.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/net/http/types.h"
#include "common/os/worker.h"
#include "controller/api/types.h"
#include "controller/cli/command/command_request.h"
#include "controller/console/access.h"
#include "controller/store/store.h"

namespace longshore::console {

// Parses {"verb", "seen": {"generation", "attempt", "step", "from"}, "to"}. `seen` is the state that the page showed,
// so that a command for another state is refused. `to` is only for undo, and optional.
Result<cli::command::CommandRequest> ParseCommand(std::string_view body);

// Gives commands to the controller one after the other, on a thread of its own, and logs who gave them. Thread-safe.
class Commands {
 public:
  static constexpr size_t kWaitingMax = 8;

  // Both must outlive this object.
  Commands(store::Store& store, const Clock& clock) : store_(store), clock_(clock), worker_(kWaitingMax) {}
  ~Commands() { stopping_ = true; }

  // Answers when the controller has executed or refused the command.
  void Give(const Person& person, const api::Key& model, const std::string& body, const http::Responder& respond);

 private:
  http::Response Execute(const api::Key& model, const cli::command::CommandRequest& request);

  store::Store& store_;
  const Clock& clock_;
  std::atomic<bool> stopping_ = false;
  Worker worker_;  // Last, so that it ends first: its tasks use the other members.
};

}  // namespace longshore::console
