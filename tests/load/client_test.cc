// The real clients against real servers in this process.
#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "common/os/file.h"
#include "common/os/process/descriptors.h"
#include "tensorflow_serving/services.grpc.pb.h"
#include "tests/load/commands.h"
#include "tests/load/generator.h"
#include "tests/load/grpc_client.h"
#include "tests/load/rest_client.h"

namespace longshore::load {
namespace {

using tensorflow::serving::PredictRequest;
using tensorflow::serving::PredictResponse;

class Service final : public tensorflow::serving::PredictionService::Service {
 public:
  grpc::Status Predict(grpc::ServerContext* context, const PredictRequest* request,
                       PredictResponse* response) override {
    if (request->model_spec().name() == "full") return {grpc::StatusCode::UNAVAILABLE, "The queue is full"};
    {
      const std::lock_guard lock(mutex);
      peers.insert(context->peer());
    }
    context->AddTrailingMetadata("x-longshore-node", "n1");
    context->AddTrailingMetadata("x-longshore-version", header_version);
    response->mutable_model_spec()->mutable_version()->set_value(7);
    auto& output = (*response->mutable_outputs())["y"];
    output.set_dtype(tensorflow::DT_FLOAT);
    const bool keyed = context->client_metadata().contains("x-user-id");
    output.add_float_val(keyed ? std::nanf("") : 1.0f);
    return grpc::Status::OK;
  }
  std::string header_version = "7";
  std::mutex mutex;
  std::set<std::string> peers;  // The connections on which requests arrived.
};

class Server {
 public:
  Server() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
  }
  std::string target() const { return "127.0.0.1:" + std::to_string(port); }
  Service service;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

Reply SendAndWait(Client& client, const Ask& ask) {
  std::promise<Reply> reply;
  client.Send(ask, [&](Reply got) { reply.set_value(std::move(got)); });
  return reply.get_future().get();
}

class GrpcClientTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef LONGSHORE_SANITIZER_THREAD
    GTEST_SKIP() << "gRPC is not built with the thread sanitizer";  // See serving-node/routing/fleet_test.cc.
#endif
  }
};
using GeneratorTest = GrpcClientTest;
using ClientsTest = GrpcClientTest;

TEST_F(GrpcClientTest, AReplyTellsVersionNodeAndWhetherItIsFinite) {
  Server server;
  const Samples samples = MakeSamples({}).value();
  const auto client = MakeGrpcClient({.target = server.target(), .connections = 2}, samples);
  const Reply plain = SendAndWait(*client, {.sample = 0, .key = {}});
  EXPECT_EQ(plain.code, Code::kOk);
  EXPECT_EQ(plain.version, 7);
  EXPECT_EQ(plain.node, "n1");
  EXPECT_FALSE(plain.non_finite);
  EXPECT_FALSE(plain.version_disputed);
  EXPECT_TRUE(SendAndWait(*client, {.sample = 0, .key = KeyIndex{1}}).non_finite);
}

TEST_F(GrpcClientTest, AFreshClientMakesAConnectionForEveryRequest) {
  Server server;
  const Samples samples = MakeSamples({}).value();
  const auto client = MakeGrpcClient({.target = server.target(), .fresh = true}, samples);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(SendAndWait(*client, {.sample = i, .key = {}}).code, Code::kOk);
  const std::lock_guard lock(server.service.mutex);
  EXPECT_EQ(server.service.peers.size(), 3u);
}

// gRPC joins its callback threads when the last channel of the process ends, so the last channel must not end on one of
// these threads.
TEST_F(GrpcClientTest, MayBeTheLastOfItsProcessToHoldAChannel) {
  Server server;
  const Samples samples = MakeSamples({}).value();
  for (int i = 0; i < 100; ++i) {
    const auto client = MakeGrpcClient({.target = server.target(), .connections = 1}, samples);
    EXPECT_EQ(SendAndWait(*client, {.sample = 0, .key = {}}).code, Code::kOk);
  }
}

TEST_F(GrpcClientTest, AHeaderThatNamesAnotherVersionThanTheBodyIsADispute) {
  Server server;
  server.service.header_version = "8";
  const Samples samples = MakeSamples({}).value();
  const auto client = MakeGrpcClient({.target = server.target(), .connections = 1}, samples);
  EXPECT_TRUE(SendAndWait(*client, {.sample = 0, .key = {}}).version_disputed);
}

TEST_F(GrpcClientTest, ARefusedConnectionIsADeathAndAFullQueueIsNot) {
  Server server;
  SampleOptions options;
  options.model = "full";
  const Samples samples = MakeSamples(options).value();
  const auto client = MakeGrpcClient({.target = server.target(), .connections = 1}, samples);
  const Reply full = SendAndWait(*client, {.sample = 0, .key = {}});
  EXPECT_EQ(full.code, Code::kUnavailable);
  EXPECT_FALSE(full.connection_died);
  server.server->Shutdown();
  server.server.reset();
  const Reply refused = SendAndWait(*client, {.sample = 0, .key = {}});
  EXPECT_EQ(refused.code, Code::kUnavailable);
  EXPECT_TRUE(refused.connection_died) << refused.message;
}

TEST_F(GeneratorTest, SendsExactlyTheRequestsAskedForAndTheLedgerHoldsEachOnce) {
  Server server;
  const Samples samples = MakeSamples({}).value();
  const auto client = MakeGrpcClient({.target = server.target(), .connections = 2}, samples);
  const SystemClock clock;
  Ledger ledger(clock.Now(), 100);
  GeneratorOptions options;
  options.rate_per_second = 5000;
  options.requests_max = 500;
  options.samples = samples.size();
  options.keys = {.share = 0.5, .distinct = 100, .once = false};
  {
    Generator generator(options, *client, nullptr, ledger, clock);
    while (!generator.exhausted() || ledger.in_flight() > 0) std::this_thread::yield();
  }
  const Counts total = ledger.Total();
  EXPECT_EQ(total.sent, 500);
  EXPECT_EQ(total.answered, 500);
  EXPECT_EQ(total.versions.at(7).keyed + total.versions.at(7).unkeyed, 500);
  EXPECT_EQ(total.versions.at(7).non_finite, total.versions.at(7).keyed);
}

TEST_F(GeneratorTest, ARequestWhoseConnectionIsRefusedIsTriedAsOftenAsToldAndThenFails) {
  const Samples samples = MakeSamples({}).value();
  const auto client = MakeGrpcClient({.target = "unix:/nonexistent/socket", .connections = 1}, samples);
  const SystemClock clock;
  Ledger ledger(clock.Now(), 1);
  GeneratorOptions options;
  options.rate_per_second = 1000;
  options.requests_max = 1;
  options.retries = 2;
  options.keys.distinct = 1;
  Generator generator(options, *client, nullptr, ledger, clock);
  while (!generator.exhausted() || ledger.in_flight() > 0) std::this_thread::yield();
  EXPECT_EQ(ledger.Total().retried, 2);
  EXPECT_EQ(ledger.Total().failed, 1);
}

// Answers each request with the given text. With `close_after_one`, closes the connection after the first answer.
class RawHttpServer {
 public:
  RawHttpServer(std::string answer, bool close_after_one) : answer_(std::move(answer)), close_(close_after_one) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 16);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~RawHttpServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  uint16_t port = 0;
  std::string last_request;

 private:
  void Serve() {
    for (int peer; (peer = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(peer)) {
      char bytes[4096];
      for (ssize_t got; (got = ::recv(peer, bytes, sizeof(bytes), 0)) > 0;) {
        last_request.assign(bytes, static_cast<size_t>(got));
        (void)::send(peer, answer_.data(), answer_.size(), MSG_NOSIGNAL);
        if (close_) break;
      }
    }
  }
  const std::string answer_;
  const bool close_;
  int listener_;
  std::thread thread_;
};

std::string HttpAnswer(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nx-longshore-version: 3\r\nx-longshore-node: n2\r\ncontent-length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST(RestClient, AReplyTellsVersionAndNodeAndSeesNaN) {
  SampleOptions options;
  options.shape = {1, 2};
  const Samples samples = MakeSamples(options).value();
  RawHttpServer server(HttpAnswer(R"({"predictions": [[NaN]]})"), false);
  RestOptions target;
  target.port = server.port;
  {
    const auto client = MakeRestClient(target, samples).value();
    for (int i = 0; i < 3; ++i) {
      const Reply reply = SendAndWait(*client, {.sample = 0, .key = KeyIndex{5}});
      EXPECT_EQ(reply.code, Code::kOk) << reply.message;
      EXPECT_EQ(reply.version, 3);
      EXPECT_EQ(reply.node, "n2");
      EXPECT_TRUE(reply.non_finite);
    }
  }
  EXPECT_NE(server.last_request.find("x-user-id: user-5"), std::string::npos);
  EXPECT_NE(server.last_request.find(R"({"instances":[[0.0,0.0625]]})"), std::string::npos) << server.last_request;
}

TEST(RestClient, AConnectionThatTheServerClosedIsNotUsedAgain) {
  const Samples samples = MakeSamples({}).value();
  RawHttpServer server(HttpAnswer("{}"), true);
  RestOptions target;
  target.port = server.port;
  const auto client = MakeRestClient(target, samples).value();
  for (int i = 0; i < 5; ++i) {
    const Reply reply = SendAndWait(*client, {.sample = 0, .key = {}});
    // The client may send its next request before it sees that the server closed the connection; then that request
    // reports a dead connection.
    EXPECT_TRUE(reply.code == Code::kOk || reply.connection_died) << reply.message;
  }
}

// Clients can connect, because the kernel accepts connections up to the backlog, but the server never reads from them.
class SilentServer {
 public:
  SilentServer() : listener_(process::ListenTcp("127.0.0.1", 0).value()) {
    port = process::LocalPort(listener_.get()).value();
  }
  uint16_t port = 0;

 private:
  const process::Descriptor listener_;
};

TEST_F(ClientsTest, AServerThatNeverAnswersIsAFailureAfterTheDeadlineAndNotADeadConnection) {
  const SilentServer server;
  const Samples samples = MakeSamples({}).value();
  const std::chrono::milliseconds deadline(50);
  const auto grpc = MakeGrpcClient(
      {.target = "127.0.0.1:" + std::to_string(server.port), .connections = 1, .deadline = deadline}, samples);
  RestOptions target;
  target.port = server.port;
  target.deadline = deadline;
  const auto rest = MakeRestClient(target, samples).value();
  for (Client* client : {grpc.get(), rest.get()}) {
    const Reply reply = SendAndWait(*client, {.sample = 0, .key = {}});
    EXPECT_EQ(reply.code, Code::kDeadlineExceeded) << reply.message;
    EXPECT_FALSE(reply.connection_died);
  }
}

TEST(Samples, AFileThatHoldsAPartOfARequestIsRefused) {
  SampleOptions options;
  options.shape = {1, 8, 8, 1};
  options.data = testing::TempDir() + "part.f32";
  ASSERT_TRUE(WriteFileAtomically(options.data, std::string(100, 'x')));
  const auto samples = MakeSamples(options);
  ASSERT_FALSE(samples);
  EXPECT_NE(samples.error().message.find("100 bytes"), std::string::npos);
}

TEST(Samples, LinesOfAFileAreTexts) {
  SampleOptions options;
  options.texts = testing::TempDir() + "texts.txt";
  ASSERT_TRUE(WriteFileAtomically(options.texts, "good \"film\"\nbad\nlong\n"));
  const Samples samples = MakeSamples(options).value();
  ASSERT_EQ(samples.size(), 3U);
  const tensorflow::TensorProto& tensor = samples.grpc[0].inputs().at("x");
  EXPECT_EQ(tensor.dtype(), tensorflow::DT_STRING);
  EXPECT_EQ(tensor.string_val(0), "good \"film\"");
  EXPECT_EQ(samples.rest_bodies[0], R"({"instances":["good \"film\""]})");
  options.shape = {2};
  EXPECT_NE(MakeSamples(options).error().message.find("has 3 lines"), std::string::npos);
  options.data = options.texts;
  EXPECT_EQ(MakeSamples(options).error().message, "--data and --texts are both set: name one file");
}

TEST(Samples, BothProtocolsSendTheBytesOfATextAlsoIfItIsNotValidUtf8) {
  SampleOptions options;
  options.texts = testing::TempDir() + "latin1.txt";
  ASSERT_TRUE(WriteFileAtomically(options.texts, "good\r\ncaf\xe9\r\n"));
  const Samples samples = MakeSamples(options).value();
  EXPECT_EQ(samples.grpc[0].inputs().at("x").string_val(0), "good") << "without the line's end";
  EXPECT_EQ(samples.rest_bodies[0], R"({"instances":["good"]})");
  EXPECT_EQ(samples.grpc[1].inputs().at("x").string_val(0), "caf\xe9");
  EXPECT_EQ(samples.rest_bodies[1], R"({"instances":[{"b64":"Y2Fm6Q=="}]})");
}

// The address of a name changes, for example when a fleet is created again.
TEST(RestClient, ResolvesTheNameAgainAfterAConnectionFailed) {
  const Samples samples = MakeSamples({}).value();
  RawHttpServer server(HttpAnswer("{}"), false);
  RestOptions target;
  target.host = "cpu";
  target.port = server.port;
  std::atomic<int> resolved = 0;
  target.resolve = [&](const std::string& host) -> Result<std::string> {
    if (host != "cpu") return NotFound("no address");
    return resolved++ == 0 ? "127.0.0.2" : "127.0.0.1";
  };
  const auto client = MakeRestClient(target, samples).value();
  EXPECT_TRUE(SendAndWait(*client, {.sample = 0, .key = {}}).connection_died);
  Reply reply;
  reply.code = Code::kUnavailable;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (reply.code != Code::kOk && std::chrono::steady_clock::now() < limit)
    reply = SendAndWait(*client, {.sample = 0, .key = {}});
  EXPECT_EQ(reply.code, Code::kOk) << reply.message;
  target.host = "gone";
  EXPECT_EQ(MakeRestClient(target, samples).error().message, "\"gone\" is not a valid address: no address");
}

TEST(ControlWord, KnowsItsThreeWordsAndExplainsThemOtherwise) {
  EXPECT_EQ(ParseControlWord("rate 12.5")->rate_per_second, 12.5);
  EXPECT_EQ(ParseControlWord("mark a b")->name, "a b");
  EXPECT_EQ(ParseControlWord("stop")->verb, ControlWord::Verb::kStop);
  for (const char* bad : {"rate", "rate x", "mark", "", "halt", "rate 5 6"}) EXPECT_FALSE(ParseControlWord(bad)) << bad;
}

TEST(LineBuffer, GivesWholeLinesHoweverTheyArrive) {
  LineBuffer buffer;
  EXPECT_TRUE(buffer.Add("ra").empty());
  EXPECT_EQ(buffer.Add("te 1\nmark x\nst"), (std::vector<std::string>{"rate 1", "mark x"}));
  EXPECT_EQ(buffer.Add("op\n"), (std::vector<std::string>{"stop"}));
}

}  // namespace
}  // namespace longshore::load
