#include "common/net/http/server.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "common/net/http/deflate.h"
#include "common/net/http/inflate.h"
#include "common/net/http/testing.h"
#include "common/os/process/testing.h"

namespace longshore::http {
namespace {

using std::chrono::milliseconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(HttpServer, AnswersSeveralRequestsOnOneConnection) {
  auto server = StartServer();
  RawClient client(server->port());
  for (int i = 0; i < 3; ++i) {
    client.Send("GET /a?b=c HTTP/1.1\r\nHost: h\r\nX-Mine: 7\r\n\r\n");
    EXPECT_THAT(client.ReadUntil(";"),
                AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("x-seen: 7\r\n"), EndsWith("GET /a?b=c ;")));
  }
  EXPECT_EQ(server->connections(), 1u);
}

TEST(HttpServer, ReadsARequestThatArrivesByteByByte) {
  auto server = StartServer();
  RawClient client(server->port());
  for (const char byte : Post("hello")) client.Send({&byte, 1});
  EXPECT_THAT(client.ReadUntil(";"), EndsWith("POST /x hello;"));
}

TEST(HttpServer, AnswersPipelinedRequestsInTheirOrder) {
  // The first request would be answered last if the server handled the requests at the same time.
  std::promise<Responder> first;
  auto server = StartServer({.threads = 2}, [&](Request request, Responder respond) {
    if (request.target == "/1") return first.set_value(std::move(respond));
    Echo(std::move(request), std::move(respond));
  });
  RawClient client(server->port());
  client.Send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n");
  first.get_future().get()({.status = 200, .content_type = "text/plain", .body = "one;"});
  EXPECT_THAT(client.ReadUntil(";"), EndsWith("one;"));
  EXPECT_THAT(client.ReadUntil(";"), EndsWith("GET /2 ;"));
  EXPECT_THAT(client.ReadUntil(";"), EndsWith("GET /3 ;"));
}

TEST(HttpServer, ReadsChunkedBodies) {
  auto server = StartServer();
  RawClient client(server->port());
  client.Send("POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_THAT(client.ReadUntil(";"), EndsWith("POST /x abcde;"));
}

TEST(HttpServer, SendsContinueToClientsThatAskForIt) {
  auto server = StartServer();
  RawClient client(server->port());
  client.Send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("ab");
  EXPECT_THAT(client.ReadUntil(";"), EndsWith("POST /x ab;"));
}

TEST(HttpServer, InflatesGzippedAndDeflatedBodies) {
  auto server = StartServer();
  RawClient client(server->port());
  client.Send(Post(Gzip("plain text"), "Content-Encoding: gzip\r\n"));
  EXPECT_THAT(client.ReadUntil(";"), EndsWith("POST /x plain text;"));
  client.Send(Post(Deflate("zlib text"), "Content-Encoding: deflate\r\n"));
  EXPECT_THAT(client.ReadUntil(";"), EndsWith("POST /x zlib text;"));
}

std::string ManyFields(int count) {
  std::string fields;
  for (int i = 0; i < count; ++i) fields += "a: b\r\n";
  return fields;
}

struct Rejected {
  std::string name;
  std::string request;
  std::string status_line;
};

class HttpLimits : public testing::TestWithParam<Rejected> {};

TEST_P(HttpLimits, RejectsTheRequestAndClosesTheConnection) {
  auto server = StartServer(
      {.request_line_bytes_max = 512, .header_bytes_max = 1024, .body_bytes_max = 4096, .inflated_bytes_max = 100000});
  RawClient client(server->port());
  client.Send(GetParam().request);
  EXPECT_THAT(client.ReadAll(),
              AllOf(StartsWith("HTTP/1.1 " + GetParam().status_line), HasSubstr("Connection: close\r\n")));
}

std::string Get(const std::string& headers) { return "GET / HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n"; }

// A chunked request, followed by a second request, which the server must not answer: a proxy could see the end of the
// first request at another place.
std::string Chunked(const std::string& headers) {
  return "POST / HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";
}

INSTANTIATE_TEST_SUITE_P(
    All, HttpLimits,
    testing::Values(
        Rejected{"LongHeader", "GET / HTTP/1.1\r\nX: " + std::string(2000, 'x') + "\r\n\r\n", "431"},
        Rejected{"LongHeaderWithoutEnd", "GET / HTTP/1.1\r\nX: " + std::string(2000, 'x'), "431"},
        Rejected{"ManyFields", "GET / HTTP/1.1\r\n" + ManyFields(129) + "\r\n", "431"},
        Rejected{"LongLine", "GET /" + std::string(600, 'x'), "414"},
        Rejected{"LongBody", Post(std::string(5000, 'x')), "413"},
        Rejected{"LongBodyToCome", "POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n", "413"},
        Rejected{"LongBodyThatAwaitsContinue",
                 "POST / HTTP/1.1\r\nContent-Length: 5000\r\nExpect: 100-continue\r\n\r\n", "413"},
        Rejected{"LongChunks", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n" + std::string(5000, 'x'),
                 "413"},
        Rejected{"LongChunkExtension",
                 "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(3000, 'x'), "400"},
        Rejected{"HugeChunk", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\nx", "400"},
        Rejected{"GzipBomb", Post(Gzip(std::string(1000000, 'x')), "Content-Encoding: gzip\r\n"), "413"},
        Rejected{"UnknownCoding", Post("x", "Content-Encoding: br\r\n"), "415"},
        Rejected{"CodingThatContainsAKnownOne", Post(Gzip("x"), "Content-Encoding: notgzip\r\n"), "415"},
        Rejected{"TwoCodings", Post("x", "Content-Encoding: gzip\r\nContent-Encoding: deflate\r\n"), "415"},
        Rejected{"BrokenGzip", Post("not gzip", "Content-Encoding: gzip\r\n"), "400"},
        Rejected{"Tls", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello", 17), "400"},
        Rejected{"Http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"}, Rejected{"Ssh", "SSH-2.0-client\r\n\r\n", "400"},
        Rejected{"TwoAuthorizations", Get("Authorization: a\r\nauthorization: a\r\n"), "400"},
        Rejected{"TwoLengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400"},
        Rejected{"ListOfLengths", "POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\na", "400"},
        Rejected{"SignedLength", "POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\na", "400"},
        Rejected{"NegativeLength", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\na", "400"},
        Rejected{"LengthAndChunks", Chunked("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"), "400"},
        Rejected{"ChunksAndLength", Chunked("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n"), "400"},
        Rejected{"OtherEncoding", Chunked("Transfer-Encoding: identity\r\n"), "400"},
        Rejected{"EncodingAfterChunks", Chunked("Transfer-Encoding: chunked, gzip\r\n"), "400"},
        Rejected{"MisspelledChunks", Chunked("Transfer-Encoding: xchunked\r\n"), "400"},
        Rejected{"OldChunks", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
        Rejected{"SpaceBeforeColon", Get("Content-Length : 0\r\n"), "400"},
        Rejected{"FoldedLine", Get("X: a\r\n b\r\n"), "400"},
        Rejected{"FoldedLineWithTab", Get("X: a\r\n\tb\r\n"), "400"},
        Rejected{"BareLineFeed", "GET / HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", "400"},
        Rejected{"OnlyLineFeeds", "GET / HTTP/1.1\nHost: h\n\n", "400"},
        Rejected{"BareReturn", Get("X: a\rb\r\n"), "400"},
        Rejected{"NullByte", Get(std::string("X: a\0b\r\n", 8)), "400"},
        Rejected{"TwoHosts", Get("Host: i\r\n"), "400"},
        Rejected{"BareLineFeedInChunk", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n",
                 "400"}),
    [](const auto& each) { return each.param.name; });

TEST(HttpServer, DoesNotAnswerWhatFollowsARejectedRequest) {
  auto server = StartServer();
  RawClient client(server->port());
  client.Send(Chunked("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_THAT(client.ReadAll(), Not(HasSubstr("smuggled")));
}

TEST(HttpServer, CallsAdmitBeforeTheBodyIsRead) {
  Options options;
  options.admit = [](const Request& head) -> std::optional<Response> {
    if (head.Header("x-mine") == "in" && head.target == "/x" && head.method == "POST") return std::nullopt;
    return Response{.status = 401, .body = "no"};
  };
  auto server = StartServer(std::move(options));
  RawClient in(server->port());
  in.Send(Post("body", "X-Mine: in\r\n"));
  EXPECT_THAT(in.ReadUntil(";"), EndsWith("POST /x body;"));
  RawClient out(server->port());
  out.Send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n");  // The body is never sent.
  EXPECT_THAT(out.ReadAll(), AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("Connection: close"), EndsWith("no")));
}

TEST(HttpServer, AnswersTenThousandPipelinedRequests) {
  auto server = StartServer();
  RawClient client(server->port());
  constexpr int kCount = 10000;
  std::thread sender([&] {
    for (int i = 0; i < kCount; ++i) client.Send(fmt::format("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", i));
  });
  for (int i = 0; i < kCount; ++i) ASSERT_THAT(client.ReadUntil(" ;"), EndsWith(fmt::format("GET /{} ;", i)));
  sender.join();
}

TEST(HttpServer, GzipsLongAnswersForClientsThatAcceptGzip) {
  const std::string text(20000, 'y');
  auto server = StartServer({.gzip_bytes_min = 1000}, [&](const Request& request, const Responder& respond) {
    respond({.body = request.target == "/long" ? text : "short"});
  });
  const auto ask = [&](const std::string& target, const std::string& accept) {
    RawClient client(server->port());
    client.Send("GET " + target + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAccept-Encoding: " + accept +
                "\r\n\r\n");
    return client.ReadAll();
  };
  const std::string packed = ask("/long", "deflate, gzip;q=0.5");
  EXPECT_THAT(packed, AllOf(HasSubstr("Content-Encoding: gzip\r\n"), HasSubstr("Vary: Accept-Encoding\r\n")));
  EXPECT_EQ(*Inflate(packed.substr(packed.find("\r\n\r\n") + 4), text.size()), text);
  const std::string deflated = ask("/long", "deflate");
  EXPECT_THAT(deflated, HasSubstr("Content-Encoding: deflate\r\n"));
  EXPECT_EQ(*Inflate(deflated.substr(deflated.find("\r\n\r\n") + 4), text.size()), text);
  for (const auto* accept : {"identity", "gzip;q=0", "deflate;q=0", "x-gzipped", ""}) {
    EXPECT_THAT(ask("/long", accept), AllOf(Not(HasSubstr("Content-Encoding")), HasSubstr("Vary"), EndsWith(text)));
  }
  EXPECT_THAT(ask("/short", "gzip"), AllOf(Not(HasSubstr("Content-Encoding")), EndsWith("short")));
}

TEST(HttpServer, DisconnectsAClientThatIsTooSlow) {
  auto server = StartServer({.header_timeout = milliseconds(50)});
  RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHos");
  EXPECT_EQ(client.ReadAll(), "");
}

TEST(HttpServer, DisconnectsAClientWhoseBodyIsTooSlow) {
  auto server = StartServer({.transfer_grace = milliseconds(50), .bytes_per_second_min = 1000000});
  RawClient client(server->port());
  client.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nslow");
  EXPECT_EQ(client.ReadAll(), "");
}

TEST(HttpServer, AcceptsConnectionsAboveTheLimitLater) {
  auto server = StartServer({.connections_max = 1});
  auto first = std::make_unique<RawClient>(server->port());
  first->Send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(first->ReadUntil(";"), EndsWith("GET /1 ;"));
  RawClient second(server->port());
  second.Send("GET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
  first->Send("GET /3 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(first->ReadUntil(";"), EndsWith("GET /3 ;"));
  EXPECT_EQ(server->connections(), 1u);
  first.reset();
  EXPECT_THAT(second.ReadUntil(";"), EndsWith("GET /2 ;"));
}

TEST(HttpServer, ContinuesAfterRunningOutOfDescriptors) {
#ifdef LONGSHORE_SANITIZER_ADDRESS
  GTEST_SKIP() << "the sanitizer opens descriptors when a program logs";
#endif
  auto server = StartServer();
  RawClient before(server->port());
  before.Send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
  before.ReadUntil(";");
  std::optional<process::NoDescriptors> none;
  RawClient waits(server->port(), [&none] { none.emplace(); });
  waits.Send("GET /3 HTTP/1.1\r\nHost: h\r\n\r\n");
  for (int i = 0; i < 100; ++i) {
    before.Send("GET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(before.ReadUntil(";"), EndsWith("GET /2 ;"));
  }
  EXPECT_EQ(server->connections(), 1u);
  none.reset();
  EXPECT_THAT(waits.ReadUntil(";"), EndsWith("GET /3 ;"));
}

TEST(HttpServer, ClosesIdleConnections) {
  auto server = StartServer({.idle_timeout = milliseconds(50)});
  RawClient client(server->port());
  EXPECT_EQ(client.ReadAll(), "");
}

TEST(HttpServer, Answers500IfTheResponderIsDropped) {
  auto server = StartServer({}, [](Request, Responder) {});
  RawClient client(server->port());
  client.Send(Post(""));
  EXPECT_THAT(client.ReadUntil("dropped"), StartsWith("HTTP/1.1 500"));
}

TEST(HttpServer, FailsOnlyTheRequestWhoseProcessingThrows) {
  Options options;
  options.admit = [](const Request& head) -> std::optional<Response> {
    if (head.target == "/admit") throw std::bad_alloc();
    return std::nullopt;
  };
  auto server = StartServer(std::move(options), [](Request request, Responder respond) {
    if (request.target == "/memory") throw std::bad_alloc();
    if (request.target == "/other") throw std::runtime_error("inner details");
    Echo(std::move(request), std::move(respond));
  });
  RawClient before(server->port());
  before.Send(Get(""));
  before.ReadUntil(";");
  const auto ask = [&](const std::string& target) {
    RawClient client(server->port());
    client.Send("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n");
    return client.ReadAll();
  };
  for (const auto* target : {"/memory", "/admit"}) {
    EXPECT_THAT(ask(target), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: "),
                                   EndsWith("memory does not suffice for this request\n")));
  }
  EXPECT_THAT(ask("/other"), AllOf(StartsWith("HTTP/1.1 500 "), EndsWith("\r\n\r\nthe request failed\n")));
  before.Send(Get(""));
  EXPECT_THAT(before.ReadUntil(";"), EndsWith("GET / ;"));
}

TEST(HttpServer, LimitsTheMemoryOfAllBodiesTogether) {
  Holder holder;
  auto server = StartServer({.bodies_bytes_max = 100000}, holder.handler());
  RawClient first(server->port());
  first.Send(Post(std::string(60000, 'x')));
  const auto [request, respond] = holder.Take();
  const std::vector<std::string> too_much = {
      Post(std::string(60000, 'x')),
      "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nea60\r\n" + std::string(60000, 'x') +
          "\r\n0\r\n\r\n",
      Post(Gzip(std::string(60000, 'x')), "Content-Encoding: gzip\r\n")};
  for (const std::string& each : too_much) {
    RawClient other(server->port());
    other.Send(each);
    EXPECT_THAT(other.ReadAll(), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: "),
                                       EndsWith("the requests under way hold more than 100000 bytes\n")));
  }
  RawClient small(server->port());
  small.Send(Post("small"));
  holder.Take().second({.body = "fits;"});
  EXPECT_THAT(small.ReadUntil(";"), EndsWith("fits;"));
  respond({.body = "first;"});
  EXPECT_THAT(first.ReadUntil(";"), EndsWith("first;"));
  for (const std::string& each : too_much) {
    small.Send(each);
    auto next = holder.Take();
    EXPECT_EQ(next.first.body.size(), 60000u);
    next.second({.body = "again;"});
    EXPECT_THAT(small.ReadUntil(";"), EndsWith("again;"));
  }
}

TEST(HttpServer, ReturnsTheMemoryOfABrokenConnection) {
  Holder holder;
  auto server = StartServer({.bodies_bytes_max = 100000}, holder.handler());
  {
    RawClient half(server->port());
    half.Send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 90000\r\n\r\n" + std::string(80000, 'x'));
    while (server->connections() == 0) std::this_thread::yield();
  }
  while (server->connections() > 0) std::this_thread::yield();
  RawClient client(server->port());
  client.Send(Post(std::string(90000, 'x')));
  EXPECT_EQ(holder.Take().first.body.size(), 90000u);
}

TEST(HttpServer, CountsABodyWhileAHandlerHasItEvenIfTheClientIsGone) {
  Holder holder;
  auto server = StartServer({.bodies_bytes_max = 100000}, holder.handler());
  auto gone = std::make_unique<RawClient>(server->port());
  gone->Send(Post(std::string(60000, 'x')));
  const auto [request, respond] = holder.Take();
  gone.reset();
  AwaitStop(request.gone);
  RawClient refused(server->port());
  refused.Send(Post(std::string(60000, 'x')));
  EXPECT_THAT(refused.ReadAll(), StartsWith("HTTP/1.1 503 "));
  respond({});
  RawClient client(server->port());
  client.Send(Post(std::string(60000, 'x')));
  EXPECT_EQ(holder.Take().first.body.size(), 60000u);
}

TEST(HttpServer, ClosesAnHttp10ConnectionAfterItsAnswerAndSendsNoInterimAnswer) {
  auto server = StartServer({}, [](const Request&, const Responder& respond) { respond({.body = "done"}); });
  RawClient client(server->port());
  client.Send("POST /x HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx");
  EXPECT_THAT(client.ReadAll(),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Connection: close\r\n"), EndsWith("done")));
}

TEST(HttpServer, RequestsAStopOfTheHandlerWhenTheClientIsGone) {
  Holder holder;
  auto server = StartServer({}, holder.handler());
  auto client = std::make_unique<RawClient>(server->port());
  client->Send(Post("x"));
  const auto [request, respond] = holder.Take();
  EXPECT_FALSE(request.gone.stop_requested());
  client.reset();
  AwaitStop(request.gone);
  respond({});
  EXPECT_EQ(server->connections(), 0u);
}

TEST(HttpServer, AnswersAClientThatHasShutDownItsSendingSide) {
  Holder holder;
  auto server = StartServer({}, holder.handler());
  RawClient client(server->port());
  client.Send(Post("x"));
  client.ShutDown();
  const auto [request, respond] = holder.Take();
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_FALSE(request.gone.stop_requested());
  respond({.body = "late"});
  EXPECT_THAT(client.ReadAll(), AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Connection: close"), EndsWith("late")));
}

TEST(HttpServer, DoesNotProbeAnHttp10ClientThatHasShutDownItsSendingSide) {
  Holder holder;
  auto server = StartServer({}, holder.handler());
  RawClient old(server->port());
  old.Send("GET / HTTP/1.0\r\n\r\n");
  old.ShutDown();
  const auto first = holder.Take();
  RawClient client(server->port());
  client.Send(Post("x"));
  client.ShutDown();
  // If the server probed HTTP/1.0 clients, `old` would have received a "100 Continue" by now, too.
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  first.second({.body = "late"});
  EXPECT_THAT(old.ReadAll(), AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("late")));
}

TEST(HttpServer, AnswersAPipelinedRequestOfAClientThatHasShutDownItsSendingSide) {
  Holder holder;
  auto server = StartServer({}, holder.handler());
  RawClient client(server->port());
  client.Send(Post("1"));
  const auto first = holder.Take();
  client.Send(Post("2"));
  client.ShutDown();
  first.second({.body = "one;"});
  EXPECT_THAT(client.ReadUntil(";"), EndsWith("one;"));
  const auto second = holder.Take();
  EXPECT_EQ(second.first.body, "2");
  second.second({.body = "two;"});
  EXPECT_THAT(client.ReadAll(), EndsWith("two;"));
}

TEST(HttpServer, StopsDespiteARequestWithoutEnd) {
  auto server = StartServer({.stop_grace = milliseconds(20), .stop_timeout = milliseconds(50)});
  RawClient client(server->port());
  client.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n");
  std::atomic<bool> stopped = false;
  std::thread sender([&] {
    while (!stopped) client.Send("more and more bytes");
  });
  server->Stop();
  stopped = true;
  sender.join();
  EXPECT_EQ(server->connections(), 0u);
}

TEST(HttpServer, ClosesAnOldConnectionAfterItsAnswer) {
  auto server = StartServer({.connection_age_max = milliseconds(1)});
  RawClient client(server->port());
  std::string last;
  for (int i = 0; i < 1000 && last.find("Connection: close") == std::string::npos; ++i) {
    client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    last = client.ReadUntil(";");
  }
  EXPECT_THAT(last, HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(client.ReadAll(), "");
}

TEST(HttpServer, AClientThatIsAskedToMoveIsToldByItsNextAnswer) {
  auto server = StartServer({});
  RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.ReadUntil(";"), testing::Not(HasSubstr("Connection: close\r\n")));
  const auto open = server->OpenConnections();
  ASSERT_EQ(open.size(), 1u);
  EXPECT_GT(open[0].requests_per_second, 0);
  open[0].ask_to_move();
  EXPECT_TRUE(server->OpenConnections().empty()) << "it was asked already";
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.ReadUntil(";"), HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(client.ReadAll(), "");
}

// Therefore it is not chosen to be moved.
TEST(HttpServer, AConnectionThatWasBusyHasNoRateSecondsLater) {
  auto server = StartServer({});
  RawClient was_busy(server->port()), busy(server->port());
  const auto ask = [](RawClient& client) {
    client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_THAT(client.ReadUntil(";"), HasSubstr("200 OK"));
  };
  for (int i = 0; i < 100; ++i) ask(was_busy);
  std::vector<double> rates;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  do {
    ask(busy);
    rates.clear();
    for (const OpenConnection& one : server->OpenConnections()) rates.push_back(one.requests_per_second);
  } while (!HasFatalFailure() && std::ranges::count(rates, 0) == 0 && std::chrono::steady_clock::now() < until);
  EXPECT_THAT(rates, testing::UnorderedElementsAre(0, testing::Gt(0)));
}

TEST(HttpServer, AnswersRequestsInProgressAndClosesIdleConnectionsWhileStopping) {
  std::promise<Responder> asked;
  auto server = StartServer({.stop_grace = milliseconds(20)},
                            [&](Request, Responder respond) { asked.set_value(std::move(respond)); });
  RawClient busy(server->port());
  RawClient idle(server->port());
  busy.Send(Post("x"));
  Responder respond = asked.get_future().get();

  std::thread stopper([&] { server->Stop(); });
  EXPECT_EQ(idle.ReadAll(), "");
  while (server->connections() != 1) std::this_thread::yield();  // The server updates its count after the close.
  respond({.status = 200, .content_type = "text/plain", .body = "late"});
  EXPECT_THAT(busy.ReadAll(), AllOf(HasSubstr("Connection: close"), EndsWith("late")));
  stopper.join();

  EXPECT_EQ(server->connections(), 0u);
  EXPECT_FALSE(RawClient(server->port()).connected());
}

TEST(HttpServer, AnswersARequestThatArrivesWhileStoppingAndClosesTheConnection) {
  auto server = StartServer({.stop_grace = milliseconds(20000)});
  RawClient client(server->port());
  client.Send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
  client.ReadUntil(";");
  std::thread stopper([&] { server->Stop(); });
  while (server->listen_fd() >= 0) std::this_thread::yield();
  client.Send("GET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), AllOf(HasSubstr("Connection: close"), EndsWith("GET /2 ;")));
  stopper.join();
}

TEST(HttpServer, AllowsAResponderToOutliveTheServer) {
  std::promise<Responder> asked;
  auto server = StartServer({}, [&](Request, Responder respond) { asked.set_value(std::move(respond)); });
  RawClient client(server->port());
  client.Send(Post("x"));
  Responder respond = asked.get_future().get();
  server.reset();
  respond({});
  EXPECT_EQ(client.ReadAll(), "");
}

// Opens 15 connections to a socket that two servers share. One of the servers has 25 connections already. Returns how
// many of the 15 connections the other server accepted.
size_t ConnectionsOfAFreshServer() {
  auto crowded = StartServer({.address = "127.0.0.1:0", .shares_socket = true});
  std::vector<std::unique_ptr<RawClient>> clients;
  const auto connect = [&](const Server& server) {
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    clients.back()->ReadUntil(";");
  };
  for (int i = 0; i < 25; ++i) connect(*crowded);
  auto fresh = StartServer({.listen_fd = dup(crowded->listen_fd()), .shares_socket = true});
  for (int i = 0; i < 15; ++i) connect(*fresh);
  return fresh->connections();
}

TEST(HttpServer, LetsTheServerWithTheFewestConnectionsAccept) {
  size_t accepted = 0;
  for (int round = 0; round < 4; ++round) accepted += ConnectionsOfAFreshServer();
  EXPECT_GE(accepted, 40u) << "of 60 connections; on a busy machine the other server accepts some";
}

TEST(Inflate, DecompressesGzipAndRejectsOtherBytes) {
  const std::string plain(700000, 'a');
  const std::string packed = Gzip(plain);
  EXPECT_EQ(*Inflate(packed, plain.size()), plain);
  EXPECT_EQ(*Inflate(packed + Gzip("b"), 1000000), plain + "b");
  EXPECT_EQ(Inflate(packed, plain.size() - 1).error().code, Code::kResourceExhausted);
  EXPECT_EQ(Inflate(packed.substr(0, packed.size() / 2), 1000000).error().message, "gzip body ends early");
  EXPECT_EQ(Inflate("", 10).error().message, "gzip body ends early");
  EXPECT_EQ(Inflate("garbage", 10).error().message, "gzip body is damaged");
}

}  // namespace
}  // namespace longshore::http
