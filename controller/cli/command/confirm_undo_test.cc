#include "controller/cli/command/confirm_undo.h"

#include <gmock/gmock.h>

#include <sstream>

#include "controller/api/format.h"
#include "controller/api/text_format.h"
#include "controller/cli/testing.h"

namespace longshore::cli::command {
namespace {

class ConfirmUndoTest : public StoreTest {
 protected:
  ConfirmUndoTest() {
    StoreDigits();
    status_.stable_version = 2;
    status_.history = {{{}, 1, "Promoted", ""}, {{}, 2, "Promoted", ""}, {{}, 3, "RolledBack", ""}};
    status_.rollout.stable = 2;
    status_.rollout.candidate = 3;
    status_.rollout.phase = api::RolloutPhase::kRolledBack;
    status_.rollout.verdict.reason = "GoldenSet";
  }

  // Returns the question; "" if it asked nothing.
  std::string Asked(const std::string& answer, bool confirmed) {
    const store::Object object = store_->Get(key_).value();
    EXPECT_TRUE(store_->PutStatus(key_, object.metadata.uid, object.metadata.resource_version, api::ToJson(status_)));
    std::istringstream in(answer);
    std::ostringstream out;
    EXPECT_EQ(ConfirmUndo(*store_, key_, in, out).has_value(), confirmed);
    return out.str();
  }

  const api::Key key_{api::kModelKind, "default", "digits"};
  api::ModelStatus status_;
};

TEST_F(ConfirmUndoTest, AsksIfTheNewestVersionWasRolledBackAlready) {
  const std::string question =
      "version 3 has been rolled back already; undo would replace version 2, which serves, by version 1. Go on? [y/N] ";
  EXPECT_EQ(Asked("y\n", true), question);
  EXPECT_EQ(Asked("\n", false), question);
  EXPECT_EQ(Asked("", false), question);
}

TEST_F(ConfirmUndoTest, DoesNotAskOtherwise) {
  status_.rollout.verdict.reason = "Undone";
  EXPECT_EQ(Asked("", true), "") << "the controller refuses a second undo";
  status_.rollout.verdict.reason = "Latency";
  status_.rollout.phase = api::RolloutPhase::kStep;
  EXPECT_EQ(Asked("", true), "");
  status_.rollout.phase = api::RolloutPhase::kRolledBack;
  status_.history.clear();
  EXPECT_EQ(Asked("", true), "") << "no version served before";
}

}  // namespace
}  // namespace longshore::cli::command
