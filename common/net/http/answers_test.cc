// Tests of the time limits of answers, and of the memory that answers hold until they are written.
#include <gmock/gmock.h>

#include <thread>

#include "common/net/http/server.h"
#include "common/net/http/testing.h"

namespace longshore::http {
namespace {

using std::chrono::milliseconds;
using testing::StartsWith;

TEST(HttpAnswers, DisconnectsAClientThatDoesNotReadItsAnswer) {
  auto server = StartServer(
      {.gzip_bytes_min = 0, .transfer_grace = milliseconds(50), .bytes_per_second_min = 1 << 30},
      [](const Request&, const Responder& respond) { respond({.body = std::string(size_t{64} << 20, 'x')}); });
  RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  while (server->connections() == 0) std::this_thread::yield();
  while (server->connections() > 0) std::this_thread::yield();
  EXPECT_LT(client.ReadAll().size(), size_t{64} << 20);
}

// The time limit for the transfer of the whole answer is 64 seconds, but the server must disconnect earlier.
TEST(HttpAnswers, DisconnectsAClientSoonIfItReadsNothingOfALongAnswer) {
  auto server = StartServer(
      {.gzip_bytes_min = 0, .transfer_grace = milliseconds(50), .bytes_per_second_min = 1 << 20},
      [](const Request&, const Responder& respond) { respond({.body = std::string(size_t{64} << 20, 'x')}); });
  RawClient client(server->port());
  const auto begun = std::chrono::steady_clock::now();
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  while (server->connections() == 0) std::this_thread::yield();
  while (server->connections() > 0) std::this_thread::yield();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
}

TEST(HttpAnswers, DeliversALongAnswerToAClientThatReadsSteadily) {
  constexpr size_t kBytes = size_t{128} << 20;  // The transfer takes longer than a tick of the server's clock.
  auto server =
      StartServer({.gzip_bytes_min = 0, .transfer_grace = milliseconds(1), .bytes_per_second_min = 1000},
                  [](const Request&, const Responder& respond) { respond({.body = std::string(kBytes, 'x')}); });
  RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_GT(client.ReadAll().size(), kBytes);
}

TEST(HttpAnswers, CountsARequestsMemoryUntilItsAnswerIsWrittenOrItsClientIsGone) {
  Holder holder;
  auto server = StartServer({.bodies_bytes_max = 100000, .gzip_bytes_min = 0}, holder.handler());
  auto slow = std::make_unique<RawClient>(server->port());
  slow->Send(Post(std::string(60000, 'x')));
  auto kept = std::make_shared<int>();
  const std::weak_ptr<int> seen = kept;
  holder.Take().second({.body = std::string(size_t{64} << 20, 'x'), .until_written = std::move(kept)});
  slow->ReadUntil("xxx");
  RawClient refused(server->port());
  refused.Send(Post(std::string(60000, 'x')));
  EXPECT_THAT(refused.ReadAll(), StartsWith("HTTP/1.1 503 "));
  EXPECT_FALSE(seen.expired());

  slow.reset();
  while (server->connections() > 0) std::this_thread::yield();
  EXPECT_TRUE(seen.expired());
  RawClient client(server->port());
  client.Send(Post(std::string(60000, 'x')));
  EXPECT_EQ(holder.Take().first.body.size(), 60000u);
}

TEST(HttpAnswers, ReleasesWhatAnAnswerKeepsAliveWhenItIsWritten) {
  auto kept = std::make_shared<int>();
  const std::weak_ptr<int> seen = kept;
  auto server = StartServer({}, [&](const Request&, const Responder& respond) {
    respond({.body = ";", .until_written = std::exchange(kept, nullptr)});
  });
  RawClient client(server->port());
  for (int i = 0; i < 2; ++i) {  // The server releases the first answer before it begins the second one.
    client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    client.ReadUntil(";");
  }
  EXPECT_TRUE(seen.expired());
}

// AddressSanitizer would report an error if the request returned its memory to a pool that does not exist any more.
TEST(HttpAnswers, AllowsARunToEndAfterItsClientAndTheServerAreGone) {
  Holder holder;
  auto server = StartServer({}, holder.handler());
  auto client = std::make_unique<RawClient>(server->port());
  client->Send(Post(std::string(60000, 'x')));
  auto [request, respond] = holder.Take();
  client.reset();
  AwaitStop(request.gone);
  server.reset();
  respond({.body = "late"});
  respond = {};  // Drops the last reference to the request.
}

TEST(HttpAnswers, A304HasNoContentLength) {
  auto server = StartServer({}, [](const Request&, const Responder& respond) { respond({.status = 304}); });
  RawClient client(server->port());
  client.Send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string answers = client.ReadAll();
  EXPECT_THAT(answers, testing::Not(testing::HasSubstr("Content-Length")));
  EXPECT_NE(answers.rfind("HTTP/1.1 304"), answers.find("HTTP/1.1 304")) << "the second answer follows the first";
}

}  // namespace
}  // namespace longshore::http
