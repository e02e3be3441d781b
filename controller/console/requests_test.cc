#include "controller/console/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace longshore::console {
namespace {

using ::testing::HasSubstr;
using What = Target::What;

std::string HeaderOf(const http::Response& response, const std::string& name) {
  const auto found = std::ranges::find(response.headers, name, &std::pair<std::string, std::string>::first);
  return found == response.headers.end() ? "" : found->second;
}

TEST(ConsoleRequests, PathsOfPagesAreFilesAndPathsOfDataAreObjects) {
  for (const char* page : {"/", "/?theme=dark", "/models/vision/digits", "/fleets/vision/cpu"}) {
    ASSERT_EQ(TargetOf(page).what, What::kFile) << page;
    EXPECT_EQ(TargetOf(page).file->name, "index.html") << page;
  }
  EXPECT_EQ(TargetOf("/files/console.js").file->name, "console.js");
  EXPECT_EQ(TargetOf("/api/v1/overview").what, What::kOverview);
  const Target model = TargetOf("/api/v1/models/vision/digits");
  EXPECT_EQ(model.what, What::kModel);
  EXPECT_EQ(model.namespace_ + " " + model.name, "vision digits");
  EXPECT_EQ(TargetOf("/api/v1/models/vision/digits/history").what, What::kHistory);
  EXPECT_EQ(TargetOf("/api/v1/models/vision/digits/commands").what, What::kCommands);
  EXPECT_EQ(TargetOf("/api/v1/fleets/vision/cpu").what, What::kFleet);
  EXPECT_EQ(TargetOf("/api/v1/access").what, What::kAccess);
}

TEST(ConsoleRequests, OtherPathsAreNothing) {
  for (const char* path : {"",
                           "x",
                           "//",
                           "/files",
                           "/files/",
                           "/files/../console.js",
                           "/files/x/console.js",
                           "/console.js",
                           "/models",
                           "/models/a",
                           "/models/a/b/c",
                           "/models/a/b/history",
                           "/models/a/b/commands",
                           "/models/../etc/passwd",
                           "/models/a/%3Cscript%3E",
                           "/models/A/b",
                           "/api",
                           "/api/v1",
                           "/api/v2/overview",
                           "/api/v1/overview/",
                           "/api/v1/models/a/..",
                           "/api/v1/fleets/a/b/history"}) {
    EXPECT_EQ(TargetOf(path).what, What::kNothing) << path;
  }
}

TEST(ConsoleRequests, OnlyAddressesAndKnownNamesAreAllowedHosts) {
  const std::set<std::string> names = {"console.test"};
  for (const char* host : {"localhost", "LOCALHOST:8620", "127.0.0.1:8620", "10.1.2.3", "[::1]:8620", "[::1]",
                           "console.test", "Console.Test:443"}) {
    EXPECT_TRUE(IsAllowedHost(host, names)) << host;
  }
  for (const char* host : {"", ":8620", "evil.test", "localhost.evil.test", "127.0.0.1.evil.test:8620", "[::1", "[",
                           "[]", "[evil.test]", "console.test.evil.test", "1.2.3"}) {
    EXPECT_FALSE(IsAllowedHost(host, names)) << host;
  }
}

TEST(ConsoleRequests, WritesAndUnknownHostsAreRefused) {
  const auto status = [](const char* method, const char* host) {
    const auto refusal = Refusal({.method = method, .target = "/", .headers = {{"host", host}}}, Policy());
    return refusal ? refusal->status : 0;
  };
  EXPECT_EQ(status("GET", "localhost"), 0);
  EXPECT_EQ(status("HEAD", "localhost"), 0);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) EXPECT_EQ(status(method, "localhost"), 405);
  EXPECT_EQ(status("GET", "evil.test"), 421);
}

// A listener for which "Bearer admin" may give commands and "Bearer reader" may read.
class ConsolePolicy : public ::testing::Test {
 protected:
  ConsolePolicy() {
    policy_.access.identify = [](std::string_view authorization) -> Result<Person> {
      if (authorization == "Bearer admin") return Person{"anna", Right::kCommand};
      if (authorization == "Bearer reader") return Person{"ben", Right::kRead};
      return Fail(Code::kUnauthenticated, "wrong");
    };
    policy_.standby = [this] { return standby_; };
  }
  int StatusOf(const char* method, const char* target, const char* token = "") const {
    http::Request head{.method = method, .target = target, .headers = {{"host", "localhost"}}};
    if (*token != 0) head.headers.emplace_back("authorization", std::string("Bearer ") + token);
    head.headers.emplace_back("content-type", "application/json");
    const auto refusal = Refusal(head, policy_);
    return refusal ? refusal->status : 0;
  }

  static constexpr const char* kCommands = "/api/v1/models/vision/digits/commands";
  Policy policy_;
  std::string standby_;
};

TEST_F(ConsolePolicy, ACommandNeedsPostAndATokenOfTheScopeAdmin) {
  EXPECT_EQ(StatusOf("POST", kCommands, "admin"), 0);
  EXPECT_EQ(StatusOf("POST", kCommands, "reader"), 403);
  EXPECT_EQ(StatusOf("POST", kCommands, "wrong"), 401);
  EXPECT_EQ(StatusOf("POST", kCommands), 401);
  EXPECT_EQ(StatusOf("GET", kCommands, "admin"), 405);
  EXPECT_EQ(StatusOf("POST", "/api/v1/overview", "admin"), 405);
  EXPECT_EQ(StatusOf("POST", "/", "admin"), 405);
}

TEST_F(ConsolePolicy, WithoutTokensThereAreNoCommands) {
  policy_.access = {};
  EXPECT_EQ(StatusOf("POST", kCommands, "admin"), 405);
  EXPECT_EQ(StatusOf("GET", "/api/v1/overview", "anything"), 0);
}

TEST_F(ConsolePolicy, DataNeedsATokenIfReadingDoesAndThePagesNever) {
  EXPECT_EQ(StatusOf("GET", "/api/v1/overview"), 0);
  EXPECT_EQ(StatusOf("GET", "/api/v1/overview", "wrong"), 401) << "so that its owner learns it";
  policy_.reading_needs_token = true;
  for (const char* data : {"/api/v1/overview", "/api/v1/models/vision/digits", "/api/v1/models/vision/digits/history",
                           "/api/v1/fleets/vision/cpu"}) {
    EXPECT_EQ(StatusOf("GET", data), 401) << data;
    EXPECT_EQ(StatusOf("GET", data, "reader"), 0) << data;
  }
  for (const char* page : {"/", "/files/console.js", "/models/vision/digits", "/api/v1/access", "/nothing"}) {
    EXPECT_EQ(StatusOf("GET", page), 0) << page;
  }
  EXPECT_EQ(StatusOf("GET", "/api/v1/access", "wrong"), 401);
}

TEST_F(ConsolePolicy, AStandbyHasPagesButNoData) {
  standby_ = "Pod b leads.";
  EXPECT_EQ(StatusOf("GET", "/"), 0);
  EXPECT_EQ(StatusOf("GET", "/api/v1/access"), 0);
  EXPECT_EQ(StatusOf("GET", "/api/v1/overview"), 503);
  EXPECT_EQ(StatusOf("POST", kCommands, "admin"), 503);
  EXPECT_EQ(StatusOf("POST", kCommands, "wrong"), 401) << "a stranger does not learn which pod leads";
}

TEST_F(ConsolePolicy, TellsThePageWhatItsTokenAllows) {
  const auto access = [this](const char* authorization) {
    return AccessJson({.method = "GET", .target = "/", .headers = {{"authorization", authorization}}}, policy_);
  };
  EXPECT_EQ(access("Bearer admin").value("name", ""), "anna");
  EXPECT_EQ(access("Bearer admin").value("mayCommand", false), true);
  EXPECT_EQ(access("Bearer reader").value("mayCommand", true), false);
  EXPECT_EQ(access("").value("name", "x"), "");
  EXPECT_EQ(access("").value("canCommand", false), true);
  EXPECT_EQ(AccessJson({}, {}).value("canCommand", true), false);
}

TEST(ConsoleRequests, EveryAnswerForbidsForeignScriptsAndFrames) {
  for (const http::Response& response : {Answer({}, "text/html", "x"), JsonAnswer({}, {}), ErrorAnswer(404, "x")}) {
    EXPECT_THAT(HeaderOf(response, "Content-Security-Policy"), HasSubstr("default-src 'self'"));
    EXPECT_THAT(HeaderOf(response, "Content-Security-Policy"), HasSubstr("frame-ancestors 'none'"));
    EXPECT_THAT(HeaderOf(response, "Content-Security-Policy"), testing::Not(HasSubstr("unsafe")));
    EXPECT_EQ(HeaderOf(response, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(HeaderOf(response, "Referrer-Policy"), "no-referrer");
    EXPECT_EQ(HeaderOf(response, "Set-Cookie"), "");
  }
}

TEST(ConsoleRequests, AClientThatHasTheTextGetsOnlyItsTag) {
  const http::Response first = Answer({}, "text/plain", "text");
  const http::Request again{.method = "GET", .target = "/", .headers = {{"if-none-match", HeaderOf(first, "ETag")}}};
  EXPECT_EQ(Answer(again, "text/plain", "text").status, 304);
  EXPECT_EQ(Answer(again, "text/plain", "text").body, "");
  EXPECT_EQ(Answer(again, "text/plain", "other").status, 200);
}

}  // namespace
}  // namespace longshore::console
