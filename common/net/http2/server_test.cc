#include "common/net/http2/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <future>
#include <mutex>
#include <set>
#include <span>
#include <thread>

#include "common/net/http2/testing.h"
#include "common/net/tls/authority.h"
#include "common/os/process/descriptors.h"

namespace longshore::http2 {
namespace {

using std::chrono::seconds;

constexpr milliseconds kLong{30000};

// Answers with a body of a fixed size when the request has ended.
class Fixed : public Stream {
 public:
  explicit Fixed(size_t bytes) : bytes_(bytes) {}

 protected:
  void OnHead() override {}
  void OnBody(std::string_view bytes, const std::shared_ptr<const void>&) override { Consume(bytes.size()); }
  void OnEnd() override {
    const Field fields[] = {{":status", "200", true}};
    SendHead(fields, false);
    SendBody({}, Pieces(std::string(bytes_, 'a')));
    EndBody();
  }
  void OnOverload() override {}
  void OnBodyTaken() override {}
  void OnClosed(bool) noexcept override {}

 private:
  const size_t bytes_;
};

// Answers like Fixed, and asks for a pause. Counts the milliseconds in which requests have ended.
struct Pausing final : Fixed {
  class Times {
   public:
    void Add(TimePoint time) {
      const std::lock_guard lock(mutex_);
      all_.insert(std::chrono::floor<milliseconds>(time.time_since_epoch()));
    }
    size_t count() {
      const std::lock_guard lock(mutex_);
      return all_.size();
    }

   private:
    std::mutex mutex_;
    std::set<milliseconds> all_;
  };
  explicit Pausing(Times& seen) : Fixed(5), times(seen) {}
  void OnEnd() override {
    times.Add(now());
    PauseReading();
    Fixed::OnEnd();
  }
  Times& times;
};

std::unique_ptr<Server> StartServer(Options options, size_t answer_bytes = 5) {
  if (options.address.empty() && options.listen_fd < 0) options.address = "127.0.0.1:0";
  options.threads = 2;
  auto started =
      Server::Start(std::move(options), [answer_bytes](const auto&) { return std::make_shared<Fixed>(answer_bytes); });
  CHECK(started);
  return std::move(*started);
}

// A client on a socket.
class SocketClient {
 public:
  explicit SocketClient(int port, uint32_t window_bytes = 65535, int receive_buffer_bytes = 0)
      : client(window_bytes), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer_bytes > 0) {
      setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  explicit SocketClient(process::Descriptor socket) : socket_(std::move(socket)) {}
  virtual ~SocketClient() = default;

  void Send() { SendRaw(client.TakeSent()); }
  virtual void SendRaw(std::string_view bytes) { send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // Sends without reading. Returns false if the socket accepts no more for a while.
  bool SendOnly() {
    constexpr int kBlockedMs = 300;
    const std::string bytes = client.TakeSent();
    pollfd wait{socket_.get(), POLLOUT, 0};
    for (std::string_view rest = bytes; !rest.empty();) {
      if (poll(&wait, 1, kBlockedMs) != 1) return false;
      const ssize_t sent = send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) return false;
      rest.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Reads once. Returns false at the end of the connection.
  bool ReadOnce() {
    std::array<char, 65536> bytes;
    const ssize_t size = ReadRaw(bytes);
    if (size <= 0) return false;
    client.Receive({bytes.data(), static_cast<size_t>(size)});
    return true;
  }
  // Drops `bytes` bytes, at a constant rate. Returns false at the end of the connection.
  bool DropPaced(size_t bytes, size_t bytes_per_second) {
    const auto began = Clock::now();
    for (size_t dropped = 0; dropped < bytes;) {
      const auto passed = std::chrono::duration_cast<milliseconds>(Clock::now() - began);
      const auto allowed = static_cast<size_t>(passed.count()) * bytes_per_second / 1000;
      char some[4096];
      if (dropped + sizeof some > allowed) {
        poll(nullptr, 0, 5);
        continue;
      }
      const ssize_t size = recv(socket_.get(), some, sizeof some, 0);
      if (size <= 0) return false;
      dropped += static_cast<size_t>(size);
    }
    return true;
  }
  // Exchanges bytes until `done`, or until the server closes the connection. Returns whether it is done.
  template <typename Done>
  bool RunUntil(const Done& done) {
    for (Send(); !done(); Send()) {
      if (!ReadOnce()) return done();
    }
    return true;
  }
  // Returns whether the server has closed the connection, within kLong.
  bool AwaitClosed() {
    const auto until = Clock::now() + kLong;
    while (ReadOnce()) Send();
    return Clock::now() < until;
  }
  std::string Ask() {
    const auto id = client.Request("/x", "");
    RunUntil([&] { return client.streams[id].has_ended; });
    return client.streams[id].body;
  }

  TestClient client;

 protected:
  virtual ssize_t ReadRaw(std::span<char> room) {
    pollfd wait{socket_.get(), POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(kLong.count())) != 1) return -1;
    return recv(socket_.get(), room.data(), room.size(), 0);
  }
  int socket() const { return socket_.get(); }

 private:
  process::Descriptor socket_;
};

// A client whose socket is encrypted. It accepts every certificate.
class TlsClient final : public SocketClient {
 public:
  explicit TlsClient(int port, bool has_alpn = true, uint32_t window_bytes = 65535) : SocketClient(port, window_bytes) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL.
    const timeval limit{.tv_sec = std::chrono::duration_cast<seconds>(kLong).count(), .tv_usec = 0};
    setsockopt(socket(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    constexpr unsigned char kAlpn[] = {2, 'h', '2'};
    if (has_alpn) SSL_set_alpn_protos(tls_.get(), kAlpn, sizeof kAlpn);
    SSL_set_fd(tls_.get(), socket());
    CHECK(SSL_connect(tls_.get()) == 1);
  }

  void SendRaw(std::string_view bytes) override {
    if (!bytes.empty()) SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
  }
  // The common name of the server's certificate.
  std::string ServerName() const {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(tls_.get()), X509_free);
    std::array<char, 100> name{};
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name.data(), name.size());
    return name.data();
  }
  // While it is on, the system keeps what is sent until it fills a segment (tcp(7), TCP_CORK).
  void Cork(bool is_on) {
    const int on = is_on ? 1 : 0;
    setsockopt(socket(), IPPROTO_TCP, TCP_CORK, &on, sizeof on);
  }
  // Whether the server has ended the TLS stream, which tells the client that nothing was cut off.
  bool HasEnd() const { return (SSL_get_shutdown(tls_.get()) & SSL_RECEIVED_SHUTDOWN) != 0; }

 private:
  ssize_t ReadRaw(std::span<char> room) override {
    return SSL_read(tls_.get(), room.data(), static_cast<int>(room.size()));
  }

  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{SSL_CTX_new(TLS_client_method()), SSL_CTX_free};
  const std::unique_ptr<SSL, decltype(&SSL_free)> tls_{SSL_new(context_.get()), SSL_free};
};

tls::Identity MakeIdentity(const std::string& name) {
  const auto authority = *tls::MakeAuthority("test", std::chrono::hours(1));
  const auto own = *tls::Issue(authority, {.name = name}, std::chrono::hours(1));
  return {.certificate = own.certificate, .key = own.key, .client_ca = {}};
}

// Identities whose first one is "one", and whose next one is "two".
std::shared_ptr<tls::Identities> MakeIdentities() {
  return std::make_shared<tls::Identities>(
      "test", [] { return MakeIdentity("two"); }, MakeIdentity("one"));
}

// Returns whether the server has this number of connections within the time.
bool AwaitConnections(const Server& server, size_t count, milliseconds within = kLong) {
  for (const auto until = Clock::now() + within; Clock::now() < until; std::this_thread::yield()) {
    if (server.connections() == count) return true;
  }
  return false;
}

TEST(Http2Server, AnswersOnEveryConnection) {
  const auto server = StartServer({});
  SocketClient first(server->port()), second(server->port());
  EXPECT_EQ(first.Ask(), "aaaaa");
  EXPECT_EQ(second.Ask(), "aaaaa");
  EXPECT_EQ(first.Ask(), "aaaaa");
  EXPECT_EQ(server->connections(), 2);
}

TEST(Http2Server, RefusesAnAddressThatIsInUse) {
  const auto server = StartServer({});
  const auto second = Server::Start({.address = "127.0.0.1:" + std::to_string(server->port())}, {});
  EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
}

TEST(Http2Server, ServesAUnixSocketBesideAPort) {
  const Path path = std::filesystem::temp_directory_path() / ("http2_test_" + std::to_string(getpid()));
  const auto server =
      StartServer({.listen_fd = *process::ListenTcp("127.0.0.1", 0), .more_fd = *process::ListenUnix(path)});
  SocketClient plain(server->port());
  SocketClient local(process::Descriptor(*process::ConnectUnix(path)));
  EXPECT_EQ(plain.Ask(), "aaaaa");
  EXPECT_EQ(local.Ask(), "aaaaa");
  std::filesystem::remove(path);
}

TEST(Http2Server, ClosesAConnectionThatSendsNothing) {
  const auto server = StartServer({.handshake_timeout = milliseconds(100)});
  SocketClient silent(server->port());
  while (silent.ReadOnce()) continue;
  EXPECT_TRUE(AwaitConnections(*server, 0));
}

TEST(Http2Server, ClosesAConnectionThatDoesNotSendHttp2) {
  const auto server = StartServer({});
  SocketClient other(server->port());
  other.client.TakeSent();
  other.client.Raw("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  other.Send();
  EXPECT_TRUE(other.AwaitClosed());
}

TEST(Http2Server, EndsAnIdleConnection) {
  const auto server = StartServer({.idle_timeout = milliseconds(100)});
  SocketClient client(server->port());
  EXPECT_EQ(client.Ask(), "aaaaa");
  EXPECT_TRUE(client.AwaitClosed());
  EXPECT_THAT(client.client.goaways, testing::Each(NGHTTP2_NO_ERROR));
}

TEST(Http2Server, EndsAConnectionWithoutRequestsAtItsAge) {
  const auto server = StartServer({.connection_age_max = milliseconds(100)});
  SocketClient client(server->port());
  client.Send();
  EXPECT_TRUE(client.AwaitClosed());
  EXPECT_THAT(client.client.goaways, testing::Contains(NGHTTP2_NO_ERROR));
}

TEST(Http2Server, AClientThatIsAskedToMoveLosesNoRequest) {
  const auto server = StartServer({});
  SocketClient client(server->port());
  EXPECT_EQ(client.Ask(), "aaaaa");
  const auto open = server->OpenConnections();
  ASSERT_EQ(open.size(), 1u);
  EXPECT_GT(open[0].requests_per_second, 0);
  open[0].ask_to_move();
  EXPECT_EQ(client.Ask(), "aaaaa") << "a request that crosses with the announcement is answered";
  EXPECT_TRUE(client.AwaitClosed());
  EXPECT_THAT(client.client.goaways, testing::Contains(NGHTTP2_NO_ERROR));
  EXPECT_TRUE(server->OpenConnections().empty());
  open[0].ask_to_move();  // The connection has ended.
}

// Therefore it is not chosen to be moved.
TEST(Http2Server, AConnectionThatWasBusyHasNoRateSecondsLater) {
  const auto server = StartServer({});
  SocketClient was_busy(server->port()), busy(server->port());
  for (int i = 0; i < 100; ++i) ASSERT_EQ(was_busy.Ask(), "aaaaa");
  std::vector<double> rates;
  const auto until = Clock::now() + std::chrono::seconds(20);
  do {
    ASSERT_EQ(busy.Ask(), "aaaaa");
    rates.clear();
    for (const http::OpenConnection& one : server->OpenConnections()) rates.push_back(one.requests_per_second);
    poll(nullptr, 0, 20);
  } while (std::ranges::count(rates, 0) == 0 && Clock::now() < until);
  EXPECT_THAT(rates, testing::UnorderedElementsAre(0, testing::Gt(0)));
}

TEST(Http2Server, AConnectionWithShortCallsIsNotIdle) {
  const auto server = StartServer({.idle_timeout = milliseconds(400)});
  SocketClient client(server->port());
  for (const auto until = Clock::now() + milliseconds(1200); Clock::now() < until; poll(nullptr, 0, 20)) {
    ASSERT_EQ(client.Ask(), "aaaaa");
  }
  EXPECT_TRUE(client.client.goaways.empty());
}

TEST(Http2Server, AStreamThatBeginsAtTheIdleEndFinishes) {
  const auto server = StartServer({.idle_timeout = milliseconds(100)}, 200000);
  SocketClient client(server->port());
  client.Send();
  while (client.client.goaways.empty() && client.ReadOnce()) continue;
  ASSERT_EQ(client.client.goaways.size(), 1);  // The first step, which crosses with a request.
  client.SendRaw({"\0\0\6\1\5\0\0\0\1\x83\x86\x84\x41\1h", 15});
  // The answer waits for the window for longer than an idle connection has to end.
  EXPECT_FALSE(AwaitConnections(*server, 0, milliseconds(4500)));
}

TEST(Http2Server, ClosesAConnectionWhoseClientDoesNotAnswerPings) {
  const auto server = StartServer({.keepalive_time = milliseconds(100), .keepalive_timeout = milliseconds(100)});
  SocketClient client(server->port());
  client.Send();
  while (client.ReadOnce()) continue;  // Reads the ping, and sends no answer.
  EXPECT_TRUE(AwaitConnections(*server, 0));
}

// Also if the next ping is due before the time for the answer to the last one has passed.
TEST(Http2Server, KeepsAConnectionWhoseClientAnswersPings) {
  const auto server = StartServer({.keepalive_time = milliseconds(50), .keepalive_timeout = milliseconds(300)});
  SocketClient client(server->port());
  client.Send();
  for (int pings = 0; pings < 8; ++pings) {
    ASSERT_TRUE(client.ReadOnce()) << "closed after " << pings << " pings";
    client.Send();
  }
}

// A window of 2 GB for the connection, as a frame.
std::string LargeWindow() { return {"\0\0\4\x08\0\0\0\0\0\x7f\0\0\0", 13}; }

TEST(Http2Server, StopsReadingFromAClientThatDoesNotRead) {
  std::atomic<int> made = 0;
  auto server = Server::Start({.address = "127.0.0.1:0"}, [&made](const auto&) {
    return std::make_shared<Fixed>(++made == 1 ? 5 : size_t{256} << 10);
  });
  SocketClient client((*server)->port(), (1u << 31) - 1, 4096);
  client.client.Raw(LargeWindow());
  client.client.Request("/x", "");
  client.RunUntil([&] { return client.client.streams[1].has_ended; });  // The client has the server's windows.
  bool is_sending = true;
  for (int i = 0; i < 500 && is_sending; ++i) {
    client.client.Request("/x", std::string(16000, 'r'));
    is_sending = client.SendOnly();
  }
  EXPECT_LT(made, 100);
}

TEST(Http2Server, ClosesAConnectionWhoseSocketIsNotRead) {
  Options options;
  options.limits.answer_time = {.grace = milliseconds(200), .bytes_per_second_min = size_t{1} << 30};
  const auto server = StartServer(options, size_t{64} << 20);
  SocketClient client(server->port(), (1u << 31) - 1);
  client.client.Raw(LargeWindow());
  client.client.Request("/x", "");
  client.Send();
  EXPECT_TRUE(AwaitConnections(*server, 1));
  EXPECT_TRUE(AwaitConnections(*server, 0));
}

TEST(Http2Server, AClientAtTheMinimumRateIsNotClosed) {
  Options options{.listen_fd = *process::ListenTcp("127.0.0.1", 0)};
  const int bytes = 64 << 10;
  setsockopt(options.listen_fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);  // Connections inherit it.
  options.limits.answer_time = {.grace = milliseconds(500), .bytes_per_second_min = 100000};
  const auto server = StartServer(options, 450000);
  SocketClient client(server->port(), (1u << 31) - 1, 4096);
  client.client.Raw(LargeWindow());
  client.client.Request("/x", "");
  client.Send();
  EXPECT_TRUE(client.DropPaced(450000, 150000));
}

TEST(Http2Server, AcceptsNoMoreConnectionsThanItsLimit) {
  const auto server = StartServer({.connections_max = 1});
  auto first = std::make_unique<SocketClient>(server->port());
  EXPECT_EQ(first->Ask(), "aaaaa");
  SocketClient second(server->port());
  second.client.Request("/x", "");
  second.Send();
  EXPECT_EQ(server->connections(), 1);
  first.reset();
  EXPECT_EQ(second.Ask(), "aaaaa");
}

// A connection is not read twice in one millisecond.
TEST(Http2Server, APauseLastsUntilTheNextMillisecond) {
  for (const bool is_encrypted : {false, true}) {
    Pausing::Times times;
    const auto server = Server::Start({.address = "127.0.0.1:0", .tls = is_encrypted ? MakeIdentities() : nullptr},
                                      [&](const auto&) { return std::make_shared<Pausing>(times); });
    const auto client = is_encrypted ? std::make_unique<TlsClient>((*server)->port())
                                     : std::make_unique<SocketClient>((*server)->port());
    for (int i = 0; i < 20; ++i) EXPECT_EQ(client->Ask(), "aaaaa");
    EXPECT_EQ(times.count(), 20) << is_encrypted;
  }
}

TEST(Http2Server, ManyTlsRecordsAreReadBetweenTwoPauses) {
  constexpr size_t kRequests = 200;
  Pausing::Times times;
  const auto server = Server::Start({.address = "127.0.0.1:0", .tls = MakeIdentities()},
                                    [&](const auto&) { return std::make_shared<Pausing>(times); });
  TlsClient client((*server)->port());
  client.Ask();  // Now the client has the server's limit of streams.
  int32_t id = 0;
  client.Cork(true);  // The records arrive together, however slow the client is.
  for (size_t i = 0; i < kRequests; ++i) {
    id = client.client.Request("/x", "");
    client.Send();  // One record.
  }
  client.Cork(false);
  EXPECT_TRUE(client.RunUntil([&] { return client.client.streams[id].has_ended; }));
  EXPECT_LT(times.count(), kRequests / 2);
}

TEST(Http2Server, DrainEndsIdleConnectionsGracefully) {
  auto server = StartServer({});
  std::thread drain;
  {
    SocketClient client(server->port());
    EXPECT_EQ(client.Ask(), "aaaaa");
    drain = std::thread([&] { server->Drain(kLong); });
    EXPECT_TRUE(client.AwaitClosed());
    EXPECT_EQ(client.client.goaways.front(), NGHTTP2_NO_ERROR);
  }
  drain.join();
}

TEST(Http2Server, DrainLetsConnectionsReachTheirAge) {
  const auto server = StartServer({.connection_age_max = kLong});
  SocketClient client(server->port());
  EXPECT_EQ(client.Ask(), "aaaaa");
  std::thread drain([&] { server->Drain(milliseconds(1000)); });
  while (server->listen_fd() >= 0) std::this_thread::yield();
  EXPECT_EQ(client.Ask(), "aaaaa");
  EXPECT_TRUE(client.client.goaways.empty());
  drain.join();
  EXPECT_EQ(server->connections(), 0) << "closed when the time of the drain had passed";
}

TEST(Http2Server, DrainEndsConnectionsBeforeTheirAgeIfAsked) {
  for (const bool asked_before : {false, true}) {
    const auto server = StartServer({.connection_age_max = kLong, .connection_age_grace = kLong});
    SocketClient client(server->port());
    EXPECT_EQ(client.Ask(), "aaaaa");
    if (asked_before) server->EndConnectionsWithin(milliseconds(0));
    EXPECT_EQ(client.Ask(), "aaaaa") << "nothing ends before Drain";
    std::thread drain([&] { server->Drain(kLong); });
    while (server->listen_fd() >= 0) std::this_thread::yield();
    if (!asked_before) server->EndConnectionsWithin(milliseconds(0));
    EXPECT_TRUE(client.AwaitClosed());
    EXPECT_EQ(client.client.goaways.front(), NGHTTP2_NO_ERROR);
    drain.join();
  }
}

TEST(Http2Server, DrainSpreadsTheEndsOfConnectionsOverTheTimeIfAsked) {
  constexpr int kClients = 16;  // It is practically impossible that all get about the same moment.
  const auto server = StartServer({.connection_age_max = kLong});
  std::array<TimePoint, kClients> ended;
  {
    std::vector<std::jthread> clients;
    std::atomic<int> connected = 0;
    for (TimePoint& end : ended) {
      clients.emplace_back([&] {
        SocketClient client(server->port());
        EXPECT_EQ(client.Ask(), "aaaaa");
        ++connected;
        EXPECT_TRUE(client.AwaitClosed());
        EXPECT_THAT(client.client.goaways, testing::Contains(NGHTTP2_NO_ERROR));
        end = Clock::now();
      });
    }
    while (connected < kClients) std::this_thread::yield();
    server->EndConnectionsWithin(milliseconds(2000));
    server->EndConnectionsWithin(kLong * 2);
    server->Drain(kLong);
  }
  const auto [first, last] = std::ranges::minmax(ended);
  EXPECT_GT(last - first, milliseconds(200));
  EXPECT_LT(last - first, kLong / 2);
}

TEST(Http2Server, DrainDoesNotWaitForAClientThatDoesNotAnswer) {
  auto server = StartServer({});
  SocketClient client(server->port());
  EXPECT_EQ(client.Ask(), "aaaaa");
  const auto began = Clock::now();
  server->Drain(kLong);
  EXPECT_LT(Clock::now() - began, kLong);
}

TEST(Http2Server, DrainClosesConnectionsWhenItsTimeHasPassed) {
  auto server = StartServer({}, 1000000);
  SocketClient client(server->port());
  client.client.Request("/x", "");
  client.RunUntil([&] { return client.client.streams[1].body.size() == 65535; });  // The rest waits for the window.
  server->Drain(milliseconds(100));
  EXPECT_EQ(server->connections(), 0);
}

TEST(Http2Server, ItsEndClosesAllConnections) {
  auto server = StartServer({});
  SocketClient client(server->port());
  EXPECT_EQ(client.Ask(), "aaaaa");
  server.reset();
  EXPECT_TRUE(client.AwaitClosed());
}

// Returns whether the connection ends well. With `has_stream`, it ends while an answer is being written.
bool EndsWithGoaway(int port, bool has_stream) {
  TlsClient client(port);
  client.Ask();
  if (has_stream) client.client.Request("/x", "");
  client.SendRaw(client.client.TakeSent() + std::string("\0\0\x08\7\0\0\0\0\0\0\0\0\0\0\0\0\0", 17));
  return client.AwaitClosed() && client.HasEnd() && client.client.streams[3].body == (has_stream ? "aaaaa" : "");
}

TEST(Http2Server, ATlsClientThatSendsGoawayIsClosedOnce) {
  const auto server = StartServer({.tls = MakeIdentities()});
  for (const bool has_stream : {false, true}) {
    EXPECT_TRUE(EndsWithGoaway(server->port(), has_stream)) << has_stream;
    EXPECT_TRUE(AwaitConnections(*server, 0));
  }
  EXPECT_EQ(TlsClient(server->port()).Ask(), "aaaaa");
}

TEST(Http2Server, ClosesATlsClientWithoutAlpn) {
  const auto server = StartServer({.tls = MakeIdentities(), .handshake_timeout = 2 * kLong});
  TlsClient client(server->port(), false);
  EXPECT_TRUE(client.AwaitClosed());
  EXPECT_TRUE(AwaitConnections(*server, 0));
}

TEST(Http2Server, ANewIdentityServesNewConnectionsOnly) {
  const auto identities = MakeIdentities();
  const auto server = StartServer({.tls = identities});
  TlsClient first(server->port());
  EXPECT_EQ(first.ServerName(), "one");
  identities->Reload();
  TlsClient second(server->port());
  EXPECT_EQ(second.ServerName(), "two");
  EXPECT_EQ(second.Ask(), "aaaaa");
  EXPECT_EQ(first.Ask(), "aaaaa");
}

TEST(Http2Server, UnreadTlsAnswersEndTheConnection) {
  Options options{.tls = MakeIdentities()};
  options.limits.answer_time = {.grace = milliseconds(200), .bytes_per_second_min = size_t{1} << 30};
  const auto server = StartServer(options, size_t{64} << 20);
  TlsClient client(server->port(), true, (1u << 31) - 1);
  client.client.Raw(LargeWindow());
  client.client.Request("/x", "");
  client.Send();
  EXPECT_TRUE(AwaitConnections(*server, 1));
  EXPECT_TRUE(AwaitConnections(*server, 0));
}

}  // namespace
}  // namespace longshore::http2
