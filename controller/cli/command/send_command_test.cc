// Gives commands through the real local store. A thread simulates the controller that executes them.
#include "controller/cli/command/send_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <thread>

#include "common/os/file.h"
#include "controller/api/format.h"
#include "controller/api/text_format.h"
#include "controller/cli/testing.h"
#include "controller/store/document.h"
#include "controller/store/forwarding_store.h"

namespace longshore::cli::command {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class SendCommandTest : public StoreTest {
 protected:
  SendCommandTest() { StoreDigits(); }

  store::Object Object() { return store_->Get(key_).value(); }
  api::ModelStatus StatusNow() { return api::ModelStatusFromJson(Object().status).value(); }
  // Writes the status as a controller does. Returns false if it changed meanwhile.
  bool Put(const store::Object& object, const Json& status) {
    return store_->PutStatus(key_, object.metadata.uid, object.metadata.resource_version, status).has_value();
  }
  Result<api::CommandAnswer> Send(const CommandRequest& request, milliseconds patience = seconds(20)) {
    return SendCommand(*store_, key_, request, clock_, patience);
  }
  // Waits until a command is queued, answers all queued ones, and returns them. Returns nothing after a while.
  std::vector<api::Command> AnswerAll() {
    const auto deadline = std::chrono::steady_clock::now() + seconds(30);
    while (std::chrono::steady_clock::now() < deadline) {
      const store::Object object = Object();
      api::ModelStatus status = api::ModelStatusFromJson(object.status).value();
      if (status.commands.empty()) continue;
      const auto taken = std::exchange(status.commands, {});
      for (const api::Command& command : taken)
        status.answers.push_back({command.id, command.verb, api::CommandResult::kDone, "by " + command.id, {}});
      if (Put(object, api::ToJson(status))) return taken;
    }
    return {};
  }

  const api::Key key_{api::kModelKind, "default", "digits"};
  FakeClock clock_{TimePoint(std::chrono::hours(500000))};
};

TEST_F(SendCommandTest, CarriesWhatTheUserSawAndReturnsTheAnswerToItsOwnId) {
  api::ModelStatus status;
  status.stable_version = 1;
  status.rollout.phase = api::RolloutPhase::kStep;
  status.rollout.candidate = 2;
  status.rollout.attempt = 3;
  status.rollout.step_index = 1;
  status.answers.push_back({"other", "abort", api::CommandResult::kDone, "of another caller", {}});
  ASSERT_TRUE(Put(Object(), api::ToJson(status)));
  std::vector<api::Command> taken;
  std::thread controller([&] { taken = AnswerAll(); });
  const auto answer = Send({.verb = "promote"});
  controller.join();
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(answer->message, "by " + taken[0].id);
  EXPECT_EQ(taken[0],
            (api::Command{
                .verb = "promote", .generation = 1, .step = 1, .id = taken[0].id, .at = clock_.Now(), .attempt = 3}));
  EXPECT_TRUE(api::Matches(taken[0].id, api::kCommandId)) << taken[0].id;
}

TEST_F(SendCommandTest, UndoNamesTheVersionThatItLeaves) {
  api::ModelStatus status;
  status.stable_version = 1;
  status.rollout.candidate = 2;
  for (const auto& [phase, left] : {std::pair(api::RolloutPhase::kCompleted, 1), {api::RolloutPhase::kStep, 2}}) {
    status.rollout.phase = phase;
    ASSERT_TRUE(Put(Object(), api::ToJson(status)));
    std::vector<api::Command> taken;
    std::thread controller([&] { taken = AnswerAll(); });
    EXPECT_TRUE(Send({.verb = "undo", .to = 7}));
    controller.join();
    EXPECT_EQ(taken.at(0).from, left);
    EXPECT_EQ(taken.at(0).to, 7);
  }
}

TEST_F(SendCommandTest, ChangesNoOtherFieldAndNoOtherCommandOfTheStatus) {
  const Json other = {{"id", "other"}, {"verb", "pause"}, {"generation", 1}, {"newField", {{"a", 1}}}};
  const Json before = {{"stableVersion", 1}, {"commands", {other}}, {"newerThanThisRelease", {{"x", {1, 2}}}}};
  ASSERT_TRUE(Put(Object(), before));
  const auto late = Send({.verb = "abort", .id = "mine"}, milliseconds(50));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded) << late.error().message;
  EXPECT_EQ(Object().status, before) << "only the command itself was withdrawn";
}

// Writes the status in place of the controller, each time before a command is written.
class BusyStore final : public store::ForwardingStore {
 public:
  explicit BusyStore(store::Store& store) : ForwardingStore(store) {}
  Result<store::Object> PatchStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                                    const Json& fields) override {
    if (writes < writes_max) {
      const store::Object object = Get(key).value();
      Json status = object.status.is_null() ? Json::object() : object.status;
      status["stableVersion"] = ++writes;
      EXPECT_TRUE(PutStatus(key, uid, object.metadata.resource_version, status));
    }
    return ForwardingStore::PatchStatus(key, uid, resource_version, fields);
  }
  int writes = 0;
  int writes_max = 25;
};

TEST_F(SendCommandTest, OverwritesNoConcurrentWriteOfTheController) {
  BusyStore busy(*store_);
  std::thread controller([&] { AnswerAll(); });
  const auto answer = SendCommand(busy, key_, {.verb = "pause"}, clock_, seconds(20));
  controller.join();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(busy.writes, 25);
  EXPECT_EQ(StatusNow().stable_version, 25);
}

TEST_F(SendCommandTest, EndsWithAnErrorIfTheStatusChangesAllTheTime) {
  BusyStore busy(*store_);
  busy.writes_max = std::numeric_limits<int>::max();
  const auto never = SendCommand(busy, key_, {.verb = "pause"}, clock_, milliseconds(100));
  ASSERT_FALSE(never);
  EXPECT_THAT(never.error().message, HasSubstr("its status changed during each of"));
}

TEST_F(SendCommandTest, SeveralCallersGetTheirOwnAnswers) {
  constexpr int kCallers = 8;
  std::atomic<bool> is_over = false;
  std::thread controller([&] {
    while (!is_over) {
      const store::Object object = Object();
      api::ModelStatus status = api::ModelStatusFromJson(object.status).value();
      for (const api::Command& command : std::exchange(status.commands, {}))
        status.answers.push_back({command.id, command.verb, api::CommandResult::kDone, "by " + command.id, {}});
      Put(object, api::ToJson(status));
    }
  });
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&, i] {
      const auto store = store::local::LocalStore::Open({.dir = dir_}).value();
      const std::string id = "caller-" + std::to_string(i);
      const auto answer = SendCommand(*store, key_, {.verb = "pause", .id = id}, clock_, seconds(60));
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(answer->message, "by " + id);
    });
  }
  for (std::thread& caller : callers) caller.join();
  is_over = true;
  controller.join();
  EXPECT_EQ(StatusNow().answers.size(), static_cast<size_t>(kCallers));
}

TEST_F(SendCommandTest, WithAnIdThatIsAnsweredReturnsThatAnswerAndWritesNothing) {
  api::ModelStatus status;
  status.answers.push_back({"deploy-42", "promote", api::CommandResult::kRefused, "too early", {}});
  ASSERT_TRUE(Put(Object(), api::ToJson(status)));
  const std::string version = Object().metadata.resource_version;
  const auto answer = Send({.verb = "promote", .id = "deploy-42"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(ToString(*answer), "promote: refused: too early");
  EXPECT_EQ(Object().metadata.resource_version, version);
}

TEST_F(SendCommandTest, AFullQueueIsAnErrorThatAsksForTheController) {
  api::ModelStatus status;
  for (size_t i = 0; i < api::kCommandsMax; ++i)
    status.commands.push_back({.verb = "pause", .generation = 1, .id = std::to_string(i)});
  ASSERT_TRUE(Put(Object(), api::ToJson(status)));
  const auto sent = Send({.verb = "abort"});
  ASSERT_FALSE(sent);
  EXPECT_THAT(sent.error().message, HasSubstr("16 commands wait for the controller already"));
}

TEST_F(SendCommandTest, ACommandThatAnOlderClientDroppedIsWrittenAgain) {
  std::thread controller([&] {
    while (StatusNow().commands.empty()) continue;
    EXPECT_TRUE(Put(Object(), Json::object())) << "a client of release 0.1 rewrites the status";
    AnswerAll();
  });
  const auto answer = Send({.verb = "pause", .id = "mine"});
  controller.join();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->message, "by mine");
}

TEST_F(SendCommandTest, WithAControllerThatDropsEachCommandTheErrorNamesTheRelease) {
  std::atomic<bool> is_over = false;
  std::thread controller([&] {
    while (!is_over) {
      const store::Object object = Object();
      if (!StatusNow().commands.empty()) Put(object, {{"stableVersion", 1}});
    }
  });
  const auto answer = Send({.verb = "pause"});
  is_over = true;
  controller.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(answer.error().message, HasSubstr("longshore-controller of a release before 0.2"));
}

TEST_F(SendCommandTest, ACommandIsNotGivenToAnotherObjectOfTheSameName) {
  const store::Object first = Object();
  std::thread user([&] {
    while (StatusNow().commands.empty()) continue;
    store::Object again = first;
    EXPECT_TRUE(store_->Delete(key_, first.metadata.uid));
    EXPECT_TRUE(store_->Apply(again));
  });
  const auto answer = Send({.verb = "abort"});
  user.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kNotFound) << answer.error().message;
  EXPECT_TRUE(StatusNow().commands.empty());
}

TEST(ToString, IsOneLineAboutTheResult) {
  EXPECT_EQ(ToString(api::CommandAnswer{"a", "promote", api::CommandResult::kDone, "", {}}), "promote: done");
  EXPECT_EQ(ToString(api::CommandAnswer{"a", "undo", api::CommandResult::kRefused, "why", {}}), "undo: refused: why");
  EXPECT_EQ(ToString(api::CommandAnswer{"a", "pause", api::CommandResult::kSuperseded, "by abort", {}}),
            "pause: superseded: by abort");
}

}  // namespace
}  // namespace longshore::cli::command
