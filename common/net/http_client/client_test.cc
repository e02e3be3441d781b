#include "common/net/http_client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "common/net/http/server.h"
#include "common/net/http_client/testing.h"
#include "common/net/tls/authority.h"

namespace longshore::http_client {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using Peer = RawServer::Peer;

std::unique_ptr<Client> Connect(const RawServer& server, milliseconds idle_max = milliseconds(5000)) {
  return Client::Make({.base_url = server.url(), .idle_max = idle_max, .body_bytes_max = 1000}).value();
}

TEST(HttpClient, SendsMethodTargetHeadersAndBodyAndReadsTheWholeAnswer) {
  std::string seen;
  const RawServer server([&](const std::string& request, const Peer& peer) {
    seen = request;
    peer.Answer(418, "short and stout", "X-Pot: Tea\r\n");
    return true;
  });
  const auto response = Connect(server)->Send({.method = "PATCH",
                                               .target = "/a%20b?c=d%2F",
                                               .headers = {{"Authorization", "Bearer x"}, {"Content-Type", "text/x"}},
                                               .body = "hello"});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 418);
  EXPECT_EQ(response->body, "short and stout");
  EXPECT_EQ(response->headers.at("x-pot"), "Tea");
  EXPECT_THAT(seen, testing::StartsWith("PATCH /a%20b?c=d%2F HTTP/1.1\r\n"));
  EXPECT_THAT(seen, HasSubstr("Authorization:Bearer x\r\n"));
  EXPECT_THAT(seen, HasSubstr("Content-Type:text/x\r\n"));
  EXPECT_THAT(seen, testing::EndsWith("\r\n\r\nhello"));
}

TEST(HttpClient, ReportsAnswersThatAreTooLongIncompleteOrMissing) {
  const RawServer server([](const std::string& request, const Peer& peer) {
    if (request.starts_with("GET /long")) peer.Answer(200, std::string(1001, 'x'));
    if (request.starts_with("GET /cut")) peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    if (request.starts_with("GET /silent")) peer.WaitForEnd();
    return false;
  });
  const auto client = Connect(server, milliseconds(1000));
  const auto error = [&](const char* target) { return client->Send({.target = target}).error(); };
  EXPECT_EQ(error("/long").code, Code::kResourceExhausted);
  EXPECT_EQ(error("/cut").code, Code::kUnavailable);
  EXPECT_EQ(error("/silent").code, Code::kUnavailable);
  EXPECT_THAT(error("/silent").message, HasSubstr("no answer for 1 s"));
  EXPECT_THAT(error("/gone").message, HasSubstr(server.url()));
}

TEST(HttpClient, StopsDownloadingAnAnswerThatIsTooLong) {
  std::promise<void> closed;
  const RawServer server([&](const std::string&, const Peer& peer) {
    peer.BeginChunks();
    while (peer.Chunk(std::string(10'000, 'x'))) {
    }
    closed.set_value();
    return false;
  });
  EXPECT_EQ(Connect(server)->Send({.target = "/"}).error().code, Code::kResourceExhausted);
  EXPECT_EQ(closed.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

// 100 requests must need fewer than 20 connections. They may need more than one, because a connection can be reused
// only some time after its answer was read.
TEST(HttpClient, ReusesConnections) {
  std::atomic<int> connections = 0;
  const RawServer server(
      [](const std::string&, const Peer& peer) {
        peer.Answer(200, "x");
        return true;
      },
      [&] { ++connections; });
  const auto client = Connect(server);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client->Send({.target = "/"}));
  EXPECT_LT(connections, 20);
}

TEST(HttpClient, ReturnsARedirectAsAnAnswerWithoutFollowingIt) {
  const RawServer server([](const std::string&, const Peer& peer) {
    peer.Answer(302, "", "Location: http://127.0.0.1:1/\r\n");
    return true;
  });
  EXPECT_EQ(Connect(server)->Send({.target = "/"})->status, 302);
}

TEST(HttpClient, StreamsPiecesAsTheyArriveUntilTheServerEndsTheBody) {
  std::promise<void> first_arrived;
  const RawServer server([&](const std::string&, const Peer& peer) {
    peer.BeginChunks();
    peer.Chunk("one");
    first_arrived.get_future().wait();  // The rest is sent only after the first piece was received.
    peer.Chunk("two");
    peer.LastChunk();
    return true;
  });
  std::string all;
  const auto response = Connect(server)->Stream({.target = "/"}, {.on_head = [](const Response&) { return true; },
                                                                  .on_piece = [&](std::string_view piece) -> Status {
                                                                    if (all.empty()) first_arrived.set_value();
                                                                    all += piece;
                                                                    return {};
                                                                  }});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(all, "onetwo");
}

TEST(HttpClient, EndsAStreamThatIsRejectedBrokenOrSilentWithTheReason) {
  const RawServer server([](const std::string& request, const Peer& peer) {
    if (request.starts_with("GET /refused")) peer.Answer(410, "too old");
    peer.BeginChunks();
    peer.Chunk("begun");
    if (request.starts_with("GET /silent")) peer.WaitForEnd();
    return false;
  });
  const auto client = Connect(server, milliseconds(1000));
  const auto stream = [&](const char* target) {
    return client->Stream({.target = target}, {.on_head = [](const Response& head) { return head.status == 200; },
                                               .on_piece = [](std::string_view) { return Status(); }});
  };
  EXPECT_EQ(stream("/refused")->body, "too old");
  EXPECT_EQ(stream("/cut").error().code, Code::kUnavailable);
  EXPECT_EQ(stream("/silent").error().code, Code::kUnavailable);
}

TEST(HttpClient, EndsTheStreamWithTheErrorOfTheReceiver) {
  const RawServer server([](const std::string&, const Peer& peer) {
    peer.BeginChunks();
    peer.Chunk("piece");
    peer.WaitForEnd();
    return false;
  });
  const auto ended = Connect(server)->Stream(
      {.target = "/"}, {.on_head = [](const Response&) { return true; },
                        .on_piece = [](std::string_view) -> Status { return DataLoss("unexpected content"); }});
  EXPECT_EQ(ended.error().code, Code::kDataLoss);
}

TEST(HttpClient, CancelsRequestsInProgressAndLaterOnes) {
  std::promise<void> streaming;
  const RawServer server([&](const std::string&, const Peer& peer) {
    peer.BeginChunks();
    peer.Chunk("x");
    peer.WaitForEnd();
    return false;
  });
  const auto client = Connect(server, milliseconds(60'000));
  auto ended = std::async(std::launch::async, [&] {
    return client->Stream({.target = "/"}, {.on_head = [](const Response&) { return true; },
                                            .on_piece = [&](std::string_view) -> Status {
                                              streaming.set_value();
                                              return {};
                                            }});
  });
  streaming.get_future().wait();
  client->Cancel();
  EXPECT_EQ(ended.get().error().code, Code::kCancelled);
  EXPECT_EQ(client->Send({.target = "/"}).error().code, Code::kCancelled);
  EXPECT_EQ(
      client->Stream({.target = "/"}, {.on_head = [](const Response&) { return true; }, .on_piece = {}}).error().code,
      Code::kCancelled);
}

TEST(HttpClient, ConnectsOnlyToServersThatItsCaHasCertified) {
  using std::chrono::hours;
  const auto authority = tls::MakeAuthority("test", hours(1)).value();
  const auto stranger = tls::MakeAuthority("stranger", hours(1)).value();
  const auto serve = [&](const tls::KeyPair& by, const tls::Subject& subject) {
    const auto pair = tls::Issue(by, subject, hours(1)).value();
    http::Options options{.address = "127.0.0.1:0"};
    options.tls = tls::Identities::Start(
                      "test",
                      [=] {
                        return Result<tls::Identity>({.certificate = pair.certificate,
                                                      .key = pair.key,
                                                      .client_ca = authority.certificate,
                                                      .verify_client = true});
                      },
                      milliseconds(0))
                      .value();
    return http::Server::Start(options,
                               [](const http::Request&, const http::Responder& respond) { respond({.body = "hello"}); })
        .value();
  };
  const auto client_pair = tls::Issue(authority, {.name = "client"}, hours(1)).value();
  const auto ask = [&](const http::Server& server, const tls::ClientIdentity& identity) {
    const auto client = Client::Make({.base_url = fmt::format("https://127.0.0.1:{}", server.port()),
                                      .tls = [=] { return Result<tls::ClientIdentity>(identity); }})
                            .value();
    return client->Send({.target = "/"});
  };
  const tls::ClientIdentity identity{authority.certificate, client_pair.certificate, client_pair.key};
  const tls::Subject here{.name = "server", .addresses = {"127.0.0.1"}};
  const auto server = serve(authority, here);
  const auto answer = ask(*server, identity);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "hello");
  EXPECT_FALSE(ask(*server, {authority.certificate, "", ""})) << "a client without a certificate";
  EXPECT_FALSE(ask(*server, {stranger.certificate, client_pair.certificate, client_pair.key})) << "another authority";
  EXPECT_THAT(ask(*serve(stranger, here), identity).error().message,
              AllOf(HasSubstr("the certificate \"CN=server\" is not trusted"), HasSubstr("issuer certificate")));
  EXPECT_THAT(ask(*serve(authority, {.name = "server", .addresses = {"127.0.0.2"}}), identity).error().message,
              AllOf(HasSubstr("\"CN=server\""), HasSubstr("another name than the one that was dialled")));
  EXPECT_THAT(ask(*server, {"no CA", "", ""}).error().message, HasSubstr("CA to verify servers is not PEM text"));
}

TEST(HttpClient, RejectsMalformedUrlsAndHttpsWithoutACa) {
  for (const char* url : {"", "127.0.0.1:80", "ftp://x", "http://", "https://x"}) {
    EXPECT_EQ(Client::Make({.base_url = url}).error().code, Code::kInvalidArgument) << url;
  }
}

TEST(HttpClient, FindsTheOriginOfAUrl) {
  EXPECT_EQ(OriginOf("https://Prometheus.test/base/path").value(), "https://prometheus.test:443");
  EXPECT_EQ(OriginOf("http://10.0.0.1:9090").value(), "http://10.0.0.1:9090");
  EXPECT_EQ(OriginOf("https://user@a.test:9091").value(), "https://a.test:9091");
  for (const char* url : {"", "a.test", "ftp://a.test", "https://"}) EXPECT_FALSE(OriginOf(url)) << url;
}

}  // namespace
}  // namespace longshore::http_client
