#include "serving-node/frontend/admin_server.h"

#include <gmock/gmock.h>

#include "common/log.h"
#include "serving-node/frontend/testing.h"

namespace longshore::frontend {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class AdminTest : public testing::Test {
 protected:
  AdminTest() {
    EXPECT_TRUE(InitLog("test", "info"));
    auto started = AdminServer::Start("127.0.0.1:0", {.missing = [] { return std::vector<std::string>{"no model"}; },
                                                      .metrics = [] { return "metrics"; },
                                                      .state = [] { return Json::object(); }});
    EXPECT_TRUE(started);
    admin_ = std::move(*started);
  }
  std::string Ask(const std::string& method, const std::string& target, const std::string& body = "") const {
    return Fetch(admin_->port(), method, target, body);
  }

  std::unique_ptr<AdminServer> admin_;
};

TEST_F(AdminTest, TheLogLevelIsToldAndSet) {
  EXPECT_THAT(Ask("GET", "/debug/log_level"), AllOf(StartsWith("HTTP/1.1 200"), EndsWith("\r\ninfo\n")));
  EXPECT_THAT(Ask("POST", "/debug/log_level", "debug\n"), EndsWith("\r\ndebug\n"));
  EXPECT_EQ(LogLevel(), "debug");
  EXPECT_THAT(Ask("POST", "/debug/log_level", "loud"),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("unknown log level \"loud\"")));
  EXPECT_EQ(LogLevel(), "debug");
}

TEST_F(AdminTest, NothingElseIsPosted) {
  for (const char* target : {"/metrics", "/livez", "/debug/state", "/debug/log_level/x"})
    EXPECT_THAT(Ask("POST", target, "debug"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(Ask("PUT", "/debug/log_level", "debug"), StartsWith("HTTP/1.1 405"));
  EXPECT_EQ(LogLevel(), "info");
}

TEST_F(AdminTest, WhyItIsNotReadyIsTold) {
  EXPECT_THAT(Ask("GET", "/readyz"), AllOf(StartsWith("HTTP/1.1 503"), EndsWith("\r\nno model\n")));
  EXPECT_THAT(Ask("GET", "/livez"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask("GET", "/metrics"), EndsWith("\r\nmetrics"));
}

}  // namespace
}  // namespace longshore::frontend
