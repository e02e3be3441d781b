#include "controller/cli/command/send_command.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "common/base/doubled_wait.h"
#include "controller/api/format.h"
#include "controller/cli/command/get_or_hint.h"
#include "controller/cli/watch/changes.h"
#include "controller/store/document.h"

namespace longshore::cli::command {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The pause after a conflict is random, so that callers that met once do not meet again. Its bound doubles.
constexpr milliseconds kPauseFirst{2};
constexpr milliseconds kPauseLongest{100};
// How long `longshore` tries to withdraw a command that no controller has taken.
constexpr milliseconds kWithdrawalPatience{5000};
// How often a command is written again after it disappeared without an answer.
constexpr int kLostMax = 3;
constexpr const char* kCommands = "commands";

std::string NewId() {
  std::random_device random;
  const auto word = [&] { return static_cast<uint32_t>(random()); };
  return fmt::format("{:08x}{:08x}", word(), word());
}

// The queue as it is stored: items of other users are written back unchanged, with fields that this release does not
// know.
Json QueueOf(const store::Object& object) {
  const Json queue = object.status.is_object() ? object.status.value(kCommands, Json()) : Json();
  return queue.is_array() ? queue : Json::array();
}

bool IsOf(const Json& item, const std::string& id) { return item.is_object() && item.value("id", Json()) == id; }

// One command on its way.
class Sent {
 public:
  Sent(store::Store& store, const api::Key& key, const CommandRequest& request, TimePoint at)
      : store_(store), key_(key), request_(request), at_(at), id_(request.id.empty() ? NewId() : request.id) {}

  struct Seen {
    bool is_queued = false;
    std::optional<api::CommandAnswer> answer{};
  };
  // Reads the Model. Returns NotFound if it was deleted after the command was written.
  Result<Seen> Look() {
    ASSIGN_OR_RETURN(const store::Object object, GetOrHint(store_, key_));
    return SeenIn(object);
  }

  // Adds the command to the queue. Does nothing if it is queued or answered.
  Status Put(steady_clock::time_point deadline) {
    return Change(
        deadline, [&](const store::Object& object, const api::Model& model, const Seen& seen) -> Result<Json> {
          if (seen.is_queued || seen.answer) return Json();
          Json queue = QueueOf(object);
          if (queue.size() >= api::kCommandsMax) {
            return ResourceExhausted("{} commands wait for the controller already; is longshore-controller running?",
                                     queue.size());
          }
          queue.push_back(api::ToJson(CommandFor(model)));
          return queue;
        });
  }

  // Removes the command from the queue. Does nothing if a controller has taken it.
  Status Withdraw() {
    const auto deadline = steady_clock::now() + kWithdrawalPatience;
    return Change(deadline, [&](const store::Object& object, const api::Model&, const Seen& seen) -> Result<Json> {
      if (!seen.is_queued) return Json();
      Json queue = QueueOf(object);
      queue.erase(std::remove_if(queue.begin(), queue.end(), [&](const Json& item) { return IsOf(item, id_); }),
                  queue.end());
      return queue;
    });
  }

 private:
  Result<Seen> SeenIn(const store::Object& object) {
    if (uid_.empty()) uid_ = object.metadata.uid;
    if (uid_ != object.metadata.uid) return NotFound("{} was deleted, and created again", api::ToString(key_));
    ASSIGN_OR_RETURN(const api::Model model, store::ToModel(object));
    const Json queue = QueueOf(object);
    Seen seen{std::any_of(queue.begin(), queue.end(), [&](const Json& item) { return IsOf(item, id_); })};
    const auto& answers = model.status.answers;
    const auto answer = std::ranges::find(answers, id_, &api::CommandAnswer::id);
    if (answer != answers.end()) seen.answer = *answer;
    return seen;
  }

  api::Command CommandFor(const api::Model& model) const {
    api::Command command = api::CommandFor(request_.verb, model.metadata.generation, model.status);
    command.id = id_;
    command.at = at_;
    command.to = request_.to;
    command.by = request_.by;
    if (request_.seen) {
      command.generation = request_.seen->generation;
      command.attempt = request_.seen->attempt;
      command.step = request_.seen->step;
      command.from = request_.seen->from;
    }
    return command;
  }

  // Writes the queue that `change` returns; null: no change. After a conflict, reads and tries again, until the
  // deadline.
  template <typename ChangeQueue>
  Status Change(steady_clock::time_point deadline, const ChangeQueue& change) {
    for (int attempts = 1;; ++attempts) {
      ASSIGN_OR_RETURN(const store::Object object, GetOrHint(store_, key_));
      ASSIGN_OR_RETURN(const Seen seen, SeenIn(object));
      ASSIGN_OR_RETURN(const api::Model model, store::ToModel(object));
      ASSIGN_OR_RETURN(const Json queue, change(object, model, seen));
      if (queue.is_null()) return {};
      const Json fields = {{kCommands, queue.empty() ? Json() : queue}};
      const auto written = store_.PatchStatus(key_, uid_, object.metadata.resource_version, fields);
      if (written) return {};
      if (written.error().code != Code::kAborted) return tl::make_unexpected(Explained(written.error()));
      if (!PauseAfterConflict(attempts, deadline)) {
        return Aborted("{}: its status changed during each of {} attempts to write the command", api::ToString(key_),
                       attempts);
      }
    }
  }

  // Returns false, without a pause, after the deadline.
  bool PauseAfterConflict(int conflicts, steady_clock::time_point deadline) {
    const auto now = steady_clock::now();
    if (now >= deadline) return false;
    const std::chrono::microseconds bound = DoubledWait(kPauseFirst, kPauseLongest, conflicts - 1);
    std::uniform_int_distribution<int64_t> pause(0, bound.count());
    std::this_thread::sleep_until(std::min(deadline, now + std::chrono::microseconds(pause(random_))));
    return true;
  }

  static Error Explained(const Error& error) {
    const bool has_no_queue = error.code == Code::kInvalidArgument &&
                              error.message.find("unknown field \"status.commands\"") != std::string::npos;
    if (!has_no_queue) return error;
    return {Code::kFailedPrecondition,
            "the cluster has the custom resources of a release before 0.2, which do not know status.commands; use the "
            "longshore of that release, or upgrade the cluster (" +
                error.message + ")"};
  }

  store::Store& store_;
  const api::Key key_;
  const CommandRequest request_;
  const TimePoint at_;
  const std::string id_;
  std::string uid_;  // The uid of the Model as it was first read.
  std::minstd_rand random_{std::random_device{}()};
};

// Returns nullopt after the deadline.
Result<std::optional<api::CommandAnswer>> AwaitAnswer(Sent& sent, watch::Changes& changes,
                                                      steady_clock::time_point deadline) {
  for (int lost = 0;;) {
    ASSIGN_OR_RETURN(const Sent::Seen seen, sent.Look());
    if (seen.answer) return seen.answer;
    if (!seen.is_queued && ++lost > kLostMax) {
      return FailedPrecondition(
          "the command was removed {} times without an answer: another program rewrites the status. If this is a "
          "longshore-controller of a release before 0.2, use the longshore of that release, or upgrade the controller",
          lost);
    }
    if (!seen.is_queued) RETURN_IF_ERROR(sent.Put(deadline));
    if (!changes.WaitUntil(deadline)) return std::nullopt;
  }
}

}  // namespace

Result<api::CommandAnswer> SendCommand(store::Store& store, const api::Key& key, const CommandRequest& request,
                                       const Clock& clock, milliseconds patience) {
  const auto deadline = steady_clock::now() + patience;
  Sent sent(store, key, request, clock.Now());
  ASSIGN_OR_RETURN(const auto changes,
                   watch::Changes::Watch(store, [&](const api::Key& changed) { return changed == key; }));
  RETURN_IF_ERROR(sent.Put(deadline));
  ASSIGN_OR_RETURN(const std::optional<api::CommandAnswer> answer, AwaitAnswer(sent, *changes, deadline));
  if (answer) return *answer;
  if (const Status withdrawn = sent.Withdraw(); !withdrawn) {
    return Prefixed(withdrawn.error(),
                    "no controller took the command in time, and it could not be withdrawn, so a controller may still "
                    "execute it");
  }
  ASSIGN_OR_RETURN(const Sent::Seen last, sent.Look());
  if (last.answer) return *last.answer;
  return DeadlineExceeded(
      "no controller took the command \"{} {}\" within {} ms, so it was withdrawn; is longshore-controller running, "
      "and "
      "is its release 0.2 or later?",
      request.verb, key.name, patience.count());
}

}  // namespace longshore::cli::command
