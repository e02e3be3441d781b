#include "common/net/download/download.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>

#include "common/net/http/server.h"
#include "common/net/tls/authority.h"
#include "common/os/file.h"

namespace longshore::download {
namespace {

using testing::HasSubstr;

// Has an https server at 127.0.0.1 whose answer depends on the requested path.
class DownloadTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("no_proxy", "127.0.0.1", 1);
    std::string pattern = testing::TempDir() + "downloadXXXXXX";
    dir_ = mkdtemp(pattern.data());
    authority_ = tls::MakeAuthority("test", std::chrono::hours(1)).value();
    ca_file_ = dir_ / "ca.crt";
    ASSERT_TRUE(WriteFileAtomically(ca_file_, authority_.certificate));
    server_ = Serve({.name = "host", .addresses = {"127.0.0.1"}});
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::unique_ptr<http::Server> Serve(const tls::Subject& subject) {
    const auto pair = tls::Issue(authority_, subject, std::chrono::hours(1)).value();
    const auto read = [pair]() -> Result<tls::Identity> {
      return tls::Identity{.certificate = pair.certificate, .key = pair.key, .client_ca = ""};
    };
    auto identities = tls::Identities::Start("test", read, std::chrono::milliseconds(0));
    auto server = http::Server::Start({.address = "127.0.0.1:0", .tls = *identities},
                                      [this](const http::Request& request, const http::Responder& respond) {
                                        ranges_.emplace_back(request.Header("range"));
                                        respond(answers_.at(request.target));
                                      });
    return std::move(server.value());
  }
  std::string Url(const std::string& path) const {
    return fmt::format("https://127.0.0.1:{}{}", server_->port(), path);
  }
  Status GetInto(Request request) {
    if (request.ca_file.empty()) request.ca_file = ca_file_;
    body_.clear();
    return Get(request, {.on_begin = [this](int64_t from, std::optional<int64_t> total) -> Status {
                           from_ = from;
                           total_ = total;
                           return {};
                         },
                         .on_piece = [this](std::string_view piece) -> Status {
                           body_ += piece;
                           return {};
                         },
                         .is_cancelled = [this] { return cancelled_; }});
  }

  Path dir_;
  Path ca_file_;
  tls::KeyPair authority_;
  std::map<std::string, http::Response> answers_{{"/a.tar?token=x", {.body = "0123456789"}}, {"/empty", {}}};
  std::vector<std::string> ranges_;
  std::unique_ptr<http::Server> server_;
  std::string body_;
  int64_t from_ = -1;
  std::optional<int64_t> total_;
  bool cancelled_ = false;
};

TEST_F(DownloadTest, GetsTheWholeBodyFromAHostWithACertificateOfTheCa) {
  const Status got = GetInto({.url = Url("/a.tar?token=x")});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(body_, "0123456789");
  EXPECT_EQ(from_, 0);
  EXPECT_EQ(total_, 10);
  EXPECT_EQ(ranges_.back(), "");
  ASSERT_TRUE(GetInto({.url = Url("/empty")}));
  EXPECT_EQ(from_, 0);
}

TEST_F(DownloadTest, RequestsTheRestAndAcceptsTheWholeBodyInstead) {
  answers_["/rest"] = {.status = 206, .body = "789", .headers = {{"Content-Range", "bytes 7-9/10"}}};
  ASSERT_TRUE(GetInto({.url = Url("/rest"), .from = 7}));
  EXPECT_EQ(ranges_.back(), "bytes=7-");
  EXPECT_EQ(from_, 7);
  EXPECT_EQ(total_, 10);
  ASSERT_TRUE(GetInto({.url = Url("/a.tar?token=x"), .from = 7}));
  EXPECT_EQ(from_, 0);
  EXPECT_EQ(body_, "0123456789");
  answers_["/end"] = {.status = 416};
  EXPECT_EQ(GetInto({.url = Url("/end"), .from = 10}).error().code, Code::kOutOfRange);
}

TEST_F(DownloadTest, ReportsErrorAnswersWithTheUrlButWithoutItsSecrets) {
  const std::pair<int, Code> cases[] = {{404, Code::kNotFound},         {410, Code::kNotFound},
                                        {401, Code::kPermissionDenied}, {403, Code::kPermissionDenied},
                                        {500, Code::kUnavailable},      {304, Code::kUnavailable}};
  for (const auto& [status, code] : cases) {
    answers_["/x?token=y"] = {.status = status, .body = "an explanation"};
    const Status got = GetInto({.url = Url("/x?token=y")});
    EXPECT_EQ(got.error().code, code) << status;
    EXPECT_EQ(got.error().message, fmt::format("{}: the host answers {}", Url("/x"), status));
    EXPECT_EQ(body_, "");
  }
}

TEST_F(DownloadTest, FollowsALimitedNumberOfRedirectsAndOnlyToHttps) {
  answers_["/there"] = {.status = 302, .body = "moved", .headers = {{"Location", Url("/a.tar?token=x")}}};
  ASSERT_TRUE(GetInto({.url = Url("/there")}));
  EXPECT_EQ(body_, "0123456789");
  answers_["/round"] = {.status = 301, .headers = {{"Location", Url("/round")}}};
  EXPECT_THAT(GetInto({.url = Url("/round")}).error().message, HasSubstr("redirect"));
  answers_["/down"] = {.status = 302, .headers = {{"Location", "http://127.0.0.1:1/"}}};
  EXPECT_EQ(GetInto({.url = Url("/down")}).error().code, Code::kFailedPrecondition);
  answers_["/file"] = {.status = 302, .headers = {{"Location", "file:///etc/passwd"}}};
  EXPECT_EQ(GetInto({.url = Url("/file")}).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(GetInto({.url = "http://127.0.0.1:1/"}).error().code, Code::kFailedPrecondition);
}

TEST_F(DownloadTest, AcceptsOnlyCertificatesOfTheCaForTheHostsName) {
  const auto other = tls::MakeAuthority("other", std::chrono::hours(1)).value();
  ASSERT_TRUE(WriteFileAtomically(dir_ / "other.crt", other.certificate));
  EXPECT_EQ(GetInto({.url = Url("/empty"), .ca_file = dir_ / "other.crt"}).error().code, Code::kUnauthenticated);
  EXPECT_EQ(Get({.url = Url("/empty")}, {}).error().code, Code::kUnauthenticated);
  EXPECT_EQ(GetInto({.url = Url("/empty"), .ca_file = dir_ / "none.crt"}).error().code, Code::kFailedPrecondition);
  server_ = Serve({.name = "another", .dns_names = {"elsewhere"}});
  const Status renamed = GetInto({.url = Url("/empty")});
  EXPECT_EQ(renamed.error().code, Code::kUnauthenticated);
  EXPECT_THAT(renamed.error().message, HasSubstr("127.0.0.1"));
}

TEST_F(DownloadTest, ReportsAnUnreachableOrUnknownHost) {
  const std::string url = Url("/a");
  server_.reset();
  EXPECT_EQ(GetInto({.url = url}).error().code, Code::kUnavailable);
  const Status unknown = GetInto({.url = "https://nowhere.invalid/a.tar"});
  EXPECT_EQ(unknown.error().code, Code::kUnavailable);
  EXPECT_THAT(unknown.error().message, HasSubstr("Could not resolve host"));
}

TEST_F(DownloadTest, StopsAtTheLimitWhenCancelledAndWhenTheReceiverFails) {
  EXPECT_EQ(GetInto({.url = Url("/a.tar?token=x"), .bytes_max = 9}).error().code, Code::kResourceExhausted);
  EXPECT_EQ(body_, "");
  ASSERT_TRUE(GetInto({.url = Url("/a.tar?token=x"), .bytes_max = 10}));
  cancelled_ = true;
  EXPECT_EQ(GetInto({.url = Url("/a.tar?token=x")}).error().code, Code::kCancelled);
  const Status full = Get({.url = Url("/a.tar?token=x"), .ca_file = ca_file_},
                          {.on_begin = [](int64_t, std::optional<int64_t>) { return Status(); },
                           .on_piece = [](std::string_view) -> Status { return DataLoss("full"); },
                           .is_cancelled = {}});
  EXPECT_EQ(full.error().code, Code::kDataLoss);
}

TEST(ShownUrl, HasNoSecrets) {
  EXPECT_EQ(ShownUrl("https://user:pass@host:1/a/b.tar?X-Signature=1#f"), "https://host:1/a/b.tar");
  EXPECT_EQ(ShownUrl("https://host/a@b"), "https://host/a@b");
  EXPECT_EQ(ShownUrl("nonsense"), "nonsense");
}

}  // namespace
}  // namespace longshore::download
