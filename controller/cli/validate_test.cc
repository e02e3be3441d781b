// Validates through the real local store. The status has the answer of a controller already.
#include "controller/cli/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "controller/api/format.h"
#include "controller/cli/parse_options.h"
#include "controller/cli/testing.h"

namespace longshore::cli {
namespace {

using api::GoldenRunState;
using testing::HasSubstr;

class ValidateTest : public StoreTest {
 protected:
  ValidateTest() {
    StoreDigits();
    options_.name = "digits";
    options_.namespace_ = "default";
    options_.timeout = std::chrono::milliseconds(50);
    options_.command = {.verb = "validate", .id = "v"};
  }

  // The controller has answered, and this is known about the request.
  Result<int> ValidateWith(const std::optional<api::GoldenRequest>& request,
                           api::CommandResult result = api::CommandResult::kDone, const std::string& message = "") {
    const store::Object object = store_->Get({api::kModelKind, "default", "digits"}).value();
    api::ModelStatus status;
    status.answers.push_back({"v", "validate", result, message, clock_.Now()});
    status.golden_set = {.version = 2, .settings = "0123456789abcdef", .request = request};
    EXPECT_TRUE(store_->PutStatus({api::kModelKind, "default", "digits"}, object.metadata.uid,
                                  object.metadata.resource_version, api::ToJson(status)));
    return Validate(options_, *store_, clock_, out_);
  }

  FakeClock clock_{TimePoint(std::chrono::hours(500000))};
  std::ostringstream out_;
  Options options_;
};

TEST_F(ValidateTest, SucceedsIfTheGoldenSetPassedOnAllNodes) {
  const auto code = ValidateWith(api::GoldenRequest{"v", {}, true, 0, 1, 0, {{"a", GoldenRunState::kPassed, "m"}}});
  EXPECT_EQ(code.value(), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("validate: done\nnode a: passed: m\npassed on 1 of 1 nodes, failed on 0\n"));
}

TEST_F(ValidateTest, FailsIfTheGoldenSetFailedOnANode) {
  const auto code = ValidateWith(api::GoldenRequest{
      "v", {}, true, 0, 1, 1, {{"b", GoldenRunState::kFailed, "why"}, {"a", GoldenRunState::kPassed, "m"}}});
  EXPECT_EQ(code.value(), kExitFailed);
  EXPECT_THAT(out_.str(), HasSubstr("node b: failed: why\n"));
}

TEST_F(ValidateTest, ShowsWhatIsKnownIfANodeDoesNotEndTheRunInTime) {
  const auto code = ValidateWith(api::GoldenRequest{
      "v", {}, false, 1, 1, 0, {{"b", GoldenRunState::kWaiting, ""}, {"a", GoldenRunState::kPassed, "m"}}});
  EXPECT_EQ(code.value(), kExitTimeout);
  EXPECT_THAT(out_.str(), HasSubstr("node b: has not ended the run"));
}

TEST_F(ValidateTest, ARefusalSaysWhy) {
  const auto code = ValidateWith(std::nullopt, api::CommandResult::kRefused, "this Model has no golden set to run");
  ASSERT_FALSE(code);
  EXPECT_EQ(ExitCodeOf(code.error()), kExitFailed);
  EXPECT_THAT(code.error().message, HasSubstr("validate: refused: this Model has no golden set to run"));
}

TEST_F(ValidateTest, ARequestThatALaterOneReplacedHasNoResults) {
  const auto code = ValidateWith(api::GoldenRequest{.id = "w"});
  ASSERT_FALSE(code);
  EXPECT_THAT(code.error().message, HasSubstr("the results of this run are gone"));
}

}  // namespace
}  // namespace longshore::cli
