// People who give random commands to one Model, and what must be true of the answers in every history.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "controller/decide/rollout/rollout.h"

namespace longshore::sim {

class Callers {
 public:
  explicit Callers(std::mt19937_64& random) : random_(random) {}

  // Some of them write to the stored status: give commands, repeat one, withdraw one, or use release 0.1.
  void Act(const api::Metadata& metadata, api::ModelStatus& stored) {
    switch (Draw(8)) {
      case 0: return Withdraw(stored);
      case 1: return Repeat(stored);
      case 2: stored.command = MakeCommand(metadata, stored, ""); return;
      default: break;
    }
    for (int i = Draw(3); i >= 0; --i) Give(metadata, stored);
  }

  // Call it whenever the controller has written the status.
  void CheckStored(const api::ModelStatus& before, const api::ModelStatus& now) {
    std::set<std::string> ids;
    for (const api::CommandAnswer& answer : now.answers) {
      EXPECT_TRUE(ids.insert(answer.id).second) << "two answers for " << answer.id;
      const auto [known, is_new] = answers_.emplace(answer.id, answer);
      EXPECT_TRUE(is_new || known->second == answer) << "the answer for " << answer.id << " has changed";
      EXPECT_FALSE(withdrawn_.contains(answer.id)) << answer.id << " was withdrawn";
      if (is_new) ++results_[answer.verb + " " + std::string(CommandResultName(answer.result))];
    }
    for (const api::Command& command : now.commands)
      EXPECT_FALSE(answers_.contains(command.id)) << command.id << " is answered and waits";
    for (const api::Command& command : before.commands) {
      const bool waits = std::ranges::count(now.commands, command.id, &api::Command::id) == 1;
      EXPECT_TRUE(waits || answers_.contains(command.id)) << command.id << " is lost";
    }
  }

  // An abort of the present rollout ends it, and no command that was given before the abort is executed.
  static void CheckDecision(const api::ModelStatus& before, const api::ModelStatus& decided, int64_t generation) {
    for (auto abort = before.commands.begin(); abort != before.commands.end(); ++abort) {
      const bool is_abort = abort->verb == "abort" && abort->generation == generation &&
                            (abort->attempt == 0 || abort->attempt == before.rollout.attempt);
      if (!is_abort || FindAnswer(before, abort->id) != nullptr || !IsUnderWay(before.rollout.phase)) continue;
      EXPECT_TRUE(decided.rollout.attempt > before.rollout.attempt || !IsUnderWay(decided.rollout.phase))
          << "abort " << abort->id << " did not end the rollout";
      for (auto other = before.commands.begin(); other != abort; ++other) {
        if (other->verb == "abort" || other->verb == "undo" || FindAnswer(before, other->id) != nullptr) continue;
        const api::CommandAnswer* answer = FindAnswer(decided, other->id);
        EXPECT_TRUE(answer != nullptr && answer->result == api::CommandResult::kSuperseded)
            << other->verb << " " << other->id << " was given before the abort";
      }
    }
  }

  void CheckAllAnswered(const api::ModelStatus& stored) const {
    EXPECT_TRUE(stored.commands.empty());
    for (const std::string& id : given_)
      EXPECT_TRUE(answers_.contains(id) || withdrawn_.contains(id)) << id << " has no answer";
  }

  // How often each command had each result: "promote Done".
  const std::map<std::string, int>& results() const { return results_; }

 private:
  int Draw(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }

  static const api::CommandAnswer* FindAnswer(const api::ModelStatus& status, const std::string& id) {
    const auto found = std::ranges::find(status.answers, id, &api::CommandAnswer::id);
    return found == status.answers.end() ? nullptr : &*found;
  }

  // Most commands are for what the caller sees.
  api::Command MakeCommand(const api::Metadata& metadata, const api::ModelStatus& stored, const std::string& id) {
    static const std::vector<std::string> kVerbs = {"promote", "promote", "abort", "pause", "pause",
                                                    "resume",  "resume",  "retry", "undo",  "undo"};
    const api::RolloutStatus& rollout = stored.rollout;
    api::Command command{.verb = kVerbs[static_cast<size_t>(Draw(10))],
                         .generation = metadata.generation - (Draw(6) == 0 ? 1 : 0),
                         .step = Draw(4) == 0 ? Draw(3) : rollout.step_index,
                         .id = id,
                         .attempt = std::max(0, rollout.attempt - (Draw(6) == 0 ? 1 : 0))};
    if (command.verb != "undo") return command;
    command.from = IsUnderWay(rollout.phase) ? rollout.candidate : stored.stable_version;
    if (Draw(4) == 0) command.to = 1 + Draw(4);
    return command;
  }

  void Give(const api::Metadata& metadata, api::ModelStatus& stored) {
    if (stored.commands.size() >= api::kCommandsMax) return;
    const std::string id = "c" + std::to_string(given_.size());
    given_.push_back(id);
    stored.commands.push_back(MakeCommand(metadata, stored, id));
  }

  void Withdraw(api::ModelStatus& stored) {
    if (stored.commands.empty()) return;
    const auto gone = stored.commands.begin() + Draw(static_cast<int>(stored.commands.size()));
    const std::string id = gone->id;
    std::erase_if(stored.commands, [&](const api::Command& command) { return command.id == id; });
    // A repeated command may have been answered already.
    if (!answers_.contains(id)) withdrawn_.insert(id);
  }

  // Gives one of the last commands again, under its id, as a script does that did not see the answer.
  void Repeat(api::ModelStatus& stored) {
    constexpr int kLast = 10;  // Their answers are still kept.
    if (given_.empty() || stored.commands.size() >= api::kCommandsMax) return;
    const size_t back = static_cast<size_t>(Draw(std::min(kLast, static_cast<int>(given_.size()))));
    const std::string& id = given_[given_.size() - 1 - back];
    const bool waits = std::ranges::count(stored.commands, id, &api::Command::id) > 0;
    if (waits || withdrawn_.contains(id) || FindAnswer(stored, id) != nullptr) {
      ++results_["repeated"];
      if (withdrawn_.contains(id)) return;
    }
    api::Command command{.verb = "promote", .id = id};
    stored.commands.push_back(command);
  }

  std::mt19937_64& random_;
  std::vector<std::string> given_;
  std::set<std::string> withdrawn_;
  std::map<std::string, api::CommandAnswer> answers_;
  std::map<std::string, int> results_;
};

}  // namespace longshore::sim
