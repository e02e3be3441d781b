#include "common/net/download/post.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include "common/net/http/server.h"

namespace longshore::download {
namespace {

using testing::HasSubstr;
using testing::Not;

class PostTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("no_proxy", "127.0.0.1", 1);
    const auto answer = [this](const http::Request& request, const http::Responder& respond) {
      seen_ = request;
      respond(answer_);
    };
    server_ = std::move(http::Server::Start({.address = "127.0.0.1:0"}, answer).value());
  }
  std::string Url() const {
    return fmt::format("http://user:secret@127.0.0.1:{}/v1/traces?key=secret", server_->port());
  }
  Result<Answer> Post(const std::string& body) {
    auto poster =
        Poster::Make({.url = Url(), .headers = {{"X-Key", "secret"}, {"X-Empty", ""}}, .answer_bytes_max = 10});
    return poster->Post(body, [this] { return cancelled_; });
  }

  http::Response answer_{.status = 200, .body = "yes"};
  http::Request seen_;
  bool cancelled_ = false;
  std::unique_ptr<http::Server> server_;
};

TEST_F(PostTest, SendsTheBodyAndTheHeaders) {
  const std::string body("\0binary\xff", 8);
  const auto answer = Post(body);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "yes");
  EXPECT_EQ(seen_.method, "POST");
  EXPECT_EQ(seen_.target, "/v1/traces?key=secret");
  EXPECT_EQ(seen_.Header("x-key"), "secret");
  EXPECT_EQ(seen_.body, body);
}

TEST_F(PostTest, ReturnsErrorAnswersWithTheTimeToWait) {
  answer_ = {.status = 503, .body = "no", .headers = {{"Retry-After", "7"}}};
  const auto answer = Post("x");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->retry_after, std::chrono::seconds(7));
}

TEST_F(PostTest, DoesNotFollowRedirects) {
  answer_ = {.status = 307, .body = "", .headers = {{"Location", "http://127.0.0.1:1/"}}};
  EXPECT_EQ(Post("x")->status, 307);
}

TEST_F(PostTest, LimitsTheAnswer) {
  answer_.body = "elevenbytes";
  EXPECT_EQ(Post("x").error().code, Code::kResourceExhausted);
}

TEST_F(PostTest, ReportsAConnectionThatFailsWithoutSecrets) {
  const std::string url = Url();
  server_ = nullptr;
  const auto answer = Poster::Make({.url = url})->Post("x", [] { return false; });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("http://127.0.0.1:"));
  EXPECT_THAT(answer.error().message, Not(HasSubstr("secret")));
}

TEST_F(PostTest, CanBeCancelled) {
  cancelled_ = true;
  EXPECT_EQ(Post("x").error().code, Code::kCancelled);
}

TEST_F(PostTest, RefusesOtherProtocolsAndHeadersOfSeveralLines) {
  EXPECT_EQ(Poster::Make({.url = "ftp://host/"}).error().code, Code::kFailedPrecondition);
  for (const char* name : {"a\nb", "a b", "a:b", ""})
    EXPECT_EQ(Poster::Make({.url = Url(), .headers = {{name, "x"}}}).error().code, Code::kFailedPrecondition);
  const auto made = Poster::Make({.url = Url(), .headers = {{"x", "secret\r\ny: 1"}}});
  EXPECT_THAT(made.error().message, Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace longshore::download
