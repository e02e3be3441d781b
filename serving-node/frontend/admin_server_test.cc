#include "serving-node/frontend/admin_server.h"

#include <gmock/gmock.h>

#include <future>

#include "common/os/log.h"
#include "serving-node/frontend/testing.h"

namespace longshore::frontend {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class AdminTest : public testing::Test {
 protected:
  // Sources whose `start` accepts only "go", and only once.
  ProfileSources Profile() {
    return {.start = [this](const std::string& wanted) -> Status {
              if (wanted != "go") return InvalidArgument("not go");
              if (std::exchange(recording_, true)) return FailedPrecondition("one is under way");
              return {};
            },
            .state = [this]() -> Result<Json> {
              if (!recording_) return NotFound("nothing yet");
              return Json{{"state", "recording"}};
            },
            .trace = [this]() -> Result<std::string> {
              if (!recording_) return NotFound("nothing yet");
              if (while_tracing_) while_tracing_();
              return "{}";
            }};
  }

  AdminTest() {
    EXPECT_TRUE(InitLog("test", "info"));
    auto started = AdminServer::Start("127.0.0.1:0", {.missing = [] { return std::vector<std::string>{"no model"}; },
                                                      .metrics = [] { return "metrics"; },
                                                      .state = [] { return Json::object(); },
                                                      .profile = Profile()});
    EXPECT_TRUE(started);
    admin_ = std::move(*started);
  }
  std::string Ask(const std::string& method, const std::string& target, const std::string& body = "") const {
    return Fetch(admin_->port(), method, target, body);
  }

  bool recording_ = false;
  std::function<void()> while_tracing_;
  std::unique_ptr<AdminServer> admin_;
};

TEST_F(AdminTest, StartsAndReturnsAProfile) {
  for (const char* target : {"/debug/profile", "/debug/profile/state"})
    EXPECT_THAT(Ask("GET", target), AllOf(StartsWith("HTTP/1.1 404"), EndsWith("\r\nnothing yet\n")));
  EXPECT_THAT(Ask("POST", "/debug/profile", "come"), AllOf(StartsWith("HTTP/1.1 400"), EndsWith("\r\nnot go\n")));
  EXPECT_THAT(Ask("POST", "/debug/profile", "go"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\"recording\"")));
  EXPECT_THAT(Ask("POST", "/debug/profile", "go"), StartsWith("HTTP/1.1 409"));
  EXPECT_THAT(Ask("GET", "/debug/profile/state"), HasSubstr("\"recording\""));
  EXPECT_THAT(Ask("GET", "/debug/profile"), AllOf(StartsWith("HTTP/1.1 200"), EndsWith("\r\n{}")));
}

TEST_F(AdminTest, AnswersProbesWhileATraceIsGenerated) {
  std::promise<void> began, probed;
  bool in_time = false;
  while_tracing_ = [&] {
    began.set_value();
    in_time = probed.get_future().wait_for(std::chrono::seconds(5)) == std::future_status::ready;
  };
  Ask("POST", "/debug/profile", "go");
  auto trace = std::async(std::launch::async, [&] { return Ask("GET", "/debug/profile"); });
  began.get_future().wait();
  EXPECT_THAT(Ask("GET", "/livez"), StartsWith("HTTP/1.1 200"));
  probed.set_value();
  EXPECT_THAT(trace.get(), EndsWith("\r\n{}"));
  EXPECT_TRUE(in_time);
}

TEST_F(AdminTest, ReturnsAndSetsTheLogLevel) {
  EXPECT_THAT(Ask("GET", "/debug/log_level"), AllOf(StartsWith("HTTP/1.1 200"), EndsWith("\r\ninfo\n")));
  EXPECT_THAT(Ask("POST", "/debug/log_level", "debug\n"), EndsWith("\r\ndebug\n"));
  EXPECT_EQ(LogLevel(), "debug");
  EXPECT_THAT(Ask("POST", "/debug/log_level", "loud"),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("unknown log level \"loud\"")));
  EXPECT_EQ(LogLevel(), "debug");
}

TEST_F(AdminTest, RefusesPostsToOtherPaths) {
  for (const char* target : {"/metrics", "/livez", "/debug/state", "/debug/log_level/x", "/debug/profile/state"})
    EXPECT_THAT(Ask("POST", target, "debug"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(Ask("PUT", "/debug/log_level", "debug"), StartsWith("HTTP/1.1 405"));
  EXPECT_EQ(LogLevel(), "info");
}

TEST_F(AdminTest, ReportsWhyItIsNotReady) {
  EXPECT_THAT(Ask("GET", "/readyz"), AllOf(StartsWith("HTTP/1.1 503"), EndsWith("\r\nno model\n")));
  EXPECT_THAT(Ask("GET", "/livez"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask("GET", "/metrics"), EndsWith("\r\nmetrics"));
}

}  // namespace
}  // namespace longshore::frontend
