// The server with gRPC C++'s own client.
#include "common/net/grpc_server/server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <future>
#include <map>
#include <thread>

#include "common/net/grpc/bytes.h"
#include "common/net/grpc/credentials.h"
#include "common/net/grpc_server/call.h"
#include "common/net/grpc_server/messages.h"
#include "common/net/tls/authority.h"
#include "grpc/health.pb.h"

#ifdef LONGSHORE_SANITIZER_THREAD
// Debian's gRPC is not built for the thread sanitizer, which does not see how the threads of gRPC's client wait for one
// another. Its code is not judged here; the server's is.
extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }
#endif

namespace longshore::grpc_server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kLong = seconds(30);

struct Answer {
  ::grpc::Status status;
  std::string message;
  std::multimap<std::string, std::string> initial, trailing;
};

std::multimap<std::string, std::string> Texts(const std::multimap<::grpc::string_ref, ::grpc::string_ref>& metadata) {
  std::multimap<std::string, std::string> texts;
  for (const auto& [name, value] : metadata) {
    texts.emplace(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
  }
  return texts;
}

Answer AskIn(::grpc::ClientContext& context, const std::shared_ptr<::grpc::Channel>& channel, const std::string& method,
             const std::string& message) {
  const ::grpc::ByteBuffer request = rpc::ToByteBuffer(Pieces(message));
  ::grpc::ByteBuffer response;
  ::grpc::Status status;
  // On this thread, so that gRPC's threads run no code of this test.
  ::grpc::CompletionQueue queue;
  const auto call = ::grpc::GenericStub(channel).PrepareUnaryCall(&context, method, request, &queue);
  call->StartCall();
  call->Finish(&response, &status, &context);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return {status, rpc::ToPieces(response).ToString(), Texts(context.GetServerInitialMetadata()),
          Texts(context.GetServerTrailingMetadata())};
}

Answer Ask(const std::shared_ptr<::grpc::Channel>& channel, const std::string& method, const std::string& message,
           const std::function<void(::grpc::ClientContext&)>& prepare = {}) {
  ::grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kLong);
  if (prepare) prepare(context);
  return AskIn(context, channel, method, message);
}

// Sends back each message of a stream.
void EchoNext(const std::shared_ptr<Call>& call) {
  call->Read([call](std::optional<Pieces> message) {
    if (!message) return call->Finish({});
    call->Write(std::move(*message), [call](bool ok) {
      if (ok) EchoNext(call);
    });
  });
}

struct GrpcServer : testing::Test {
  GrpcServer() {
    service->Add("/t/Echo", {.handler = [](const auto& call) { call->Finish({}, call->TakeRequest()); }});
    service->Add("/t/Stream", {.kind = Method::Kind::kStreaming, .handler = EchoNext});
  }
  void Start(http2::Options options = {}) {
    options.address = "127.0.0.1:0";
    options.threads = 2;
    auto started = grpc_server::Start(std::move(options), service);
    ASSERT_TRUE(started);
    server = std::move(*started);
    ::grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel = ::grpc::CreateCustomChannel(target(), ::grpc::InsecureChannelCredentials(), arguments);
  }
  std::string target() const { return "127.0.0.1:" + std::to_string(server->port()); }

  std::shared_ptr<Service> service = std::make_shared<Service>();
  std::unique_ptr<http2::Server> server;
  std::shared_ptr<::grpc::Channel> channel;
};

TEST_F(GrpcServer, AnswersUnaryCallsOfAllSizes) {
  Start();
  for (const size_t size : {0, 1, 1000, 5000, 100000, 600000, 5000000}) {
    std::string message(size, 'm');
    for (size_t i = 0; i < size; ++i) message[i] = static_cast<char>(i * 31 >> 3);
    const Answer answer = Ask(channel, "/t/Echo", message);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_TRUE(answer.message == message) << size;
  }
}

TEST_F(GrpcServer, AUnaryCallWhoseRequestDoesNotArriveEnds) {
  service->receive_time = {.grace = milliseconds(100)};
  Start();
  ::grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kLong);
  ::grpc::CompletionQueue queue;
  const auto call = ::grpc::GenericStub(channel).PrepareCall(&context, "/t/Echo", &queue);
  ::grpc::Status status;
  void* tag = nullptr;
  bool ok = false;
  call->StartCall(nullptr);
  queue.Next(&tag, &ok);
  call->Finish(&status, nullptr);
  queue.Next(&tag, &ok);
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(status.error_message(), "the request did not arrive in time");
}

TEST_F(GrpcServer, AnswersManyCallsFromOtherThreads) {
  service->Add("/t/Hop", {.handler = [](const auto& call) {
                 std::thread([call, request = call->TakeRequest()] { call->Finish({}, request); }).detach();
               }});
  Start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 50; ++call) EXPECT_EQ(Ask(channel, "/t/Hop", "hello").message, "hello");
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(GrpcServer, SendsStatusAndMetadataBothWays) {
  service->Add("/t/Fail", {.handler = [](const auto& call) {
                 EXPECT_EQ(call->Metadata("x-in-bin"), std::string("\0\xff", 2));
                 EXPECT_EQ(call->Metadata("x-none"), std::nullopt);
                 EXPECT_THAT(call->peer().address, testing::StartsWith("ipv4:127.0.0.1:"));
                 std::string values;
                 call->ForEachMetadata([&](auto name, auto value) {
                   if (name == "x-many") values += value;
                 });
                 call->AddInitialMetadata("x-initial", values);
                 call->AddTrailingMetadata("x-trailing-bin", std::string_view("\0\1", 2));
                 call->Finish(FailedPrecondition("100 % \xc3\xa4\n"));
               }});
  Start();
  const Answer answer = Ask(channel, "/t/Fail", "", [](::grpc::ClientContext& context) {
    context.AddMetadata("x-in-bin", std::string("\0\xff", 2));
    context.AddMetadata("x-many", "a");
    context.AddMetadata("x-many", "b");
  });
  EXPECT_EQ(answer.status.error_code(), ::grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(answer.status.error_message(), "100 % \xc3\xa4\n");
  EXPECT_THAT(answer.initial, testing::Contains(testing::Pair("x-initial", "ab")));
  EXPECT_THAT(answer.trailing, testing::Contains(testing::Pair("x-trailing-bin", std::string("\0\1", 2))));
}

TEST_F(GrpcServer, RefusesUnknownMethodsAndTooLargeMessages) {
  service->receive_bytes_max = 1000;
  Start();
  EXPECT_EQ(Ask(channel, "/t/None", "").status.error_code(), ::grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(Ask(channel, "/t/Echo", std::string(1001, 'a')).status.error_code(),
            ::grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Ask(channel, "/t/Echo", std::string(3000000, 'a')).status.error_code(),
            ::grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Ask(channel, "/t/Echo", std::string(1000, 'a')).status.ok());
}

// A refusal lets the connection wait before it reads more. The requests that arrive meanwhile must be answered.
TEST_F(GrpcServer, AnswersRequestsThatArriveAfterARefusal) {
  service->Add("/t/Full", {.handler = [](const auto& call) { call->Finish(Unavailable("full")); }});
  Start();
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([this] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(Ask(channel, "/t/Full", "m").status.error_code(), ::grpc::StatusCode::UNAVAILABLE);
        EXPECT_EQ(Ask(channel, "/t/Echo", "m").message, "m");
      }
    });
  }
  for (auto& client : clients) client.join();
}

TEST_F(GrpcServer, AcceptsCompressedMessagesUpToTheLimit) {
  service->receive_bytes_max = 100000;
  Start();
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    const auto compress = [&](::grpc::ClientContext& context) { context.set_compression_algorithm(algorithm); };
    EXPECT_EQ(Ask(channel, "/t/Echo", std::string(100000, 'a'), compress).message, std::string(100000, 'a'));
    EXPECT_EQ(Ask(channel, "/t/Echo", std::string(1000000, 'a'), compress).status.error_code(),
              ::grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
}

TEST_F(GrpcServer, DecompressedMessagesCountInTheMemoryOfTheServer) {
  std::promise<std::pair<std::shared_ptr<Call>, Pieces>> kept;
  service->Add("/t/Keep", {.handler = [&](const auto& call) { kept.set_value({call, call->TakeRequest()}); }});
  service->receive_bytes_max = 700000;
  Start({.bytes_max = 1000000});
  const auto compress = [](::grpc::ClientContext& context) { context.set_compression_algorithm(GRPC_COMPRESS_GZIP); };
  const std::string message(600000, 'a');
  auto first = std::async(std::launch::async, [&] { return Ask(channel, "/t/Keep", message, compress); });
  {
    const auto call = kept.get_future().get();
    EXPECT_EQ(call.second.size(), message.size());
    EXPECT_EQ(Ask(channel, "/t/Echo", message, compress).status.error_message(),
              "the requests in progress use too much memory");
    call.first->Finish({});
  }
  EXPECT_TRUE(first.get().status.ok());
}

TEST_F(GrpcServer, TheGateSeesTheHeadOfEachCall) {
  service->gate = [](const CallHead& head) -> Status {
    if (head.authorization != "Bearer good") return Fail(Code::kUnauthenticated, "no token for {}", head.path);
    return {};
  };
  Start();
  const auto with = [&](const std::vector<std::string>& tokens) {
    return Ask(channel, "/t/Echo", "x",
               [&](::grpc::ClientContext& context) {
                 for (const auto& token : tokens) context.AddMetadata("authorization", token);
               })
        .status;
  };
  EXPECT_TRUE(with({"Bearer good"}).ok());
  EXPECT_EQ(with({}).error_message(), "no token for /t/Echo");
  EXPECT_EQ(with({"Bearer good", "Bearer good"}).error_code(), ::grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(GrpcServer, APassedDeadlineOrACancellationStopsTheHandler) {
  std::promise<std::shared_ptr<Call>> arrived[2];
  std::atomic<int> calls = 0;
  service->Add("/t/Wait", {.handler = [&](const auto& call) {
                 call->cancelled();
                 arrived[calls++].set_value(call);
               }});
  Start();
  const auto late = Ask(channel, "/t/Wait", "", [](::grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + milliseconds(200));
  });
  EXPECT_EQ(late.status.error_code(), ::grpc::StatusCode::DEADLINE_EXCEEDED);
  ::grpc::ClientContext context;  // Must outlive TryCancel.
  context.set_deadline(std::chrono::system_clock::now() + kLong);
  std::thread client([&] {
    const auto answer = AskIn(context, channel, "/t/Wait", "");
    EXPECT_EQ(answer.status.error_code(), ::grpc::StatusCode::CANCELLED);
  });
  const auto second = arrived[1].get_future().get();
  context.TryCancel();
  client.join();
  for (const auto& call : {arrived[0].get_future().get(), second}) {
    std::promise<void> stopped;
    const std::stop_callback callback(call->cancelled(), [&] { stopped.set_value(); });
    EXPECT_EQ(stopped.get_future().wait_for(kLong), std::future_status::ready);
    call->Finish({}, Pieces(std::string("late")));
  }
}

TEST_F(GrpcServer, AnObjectIsHeldUntilTheAnswerIsWritten) {
  std::promise<void> released;
  service->Add("/t/Hold", {.handler = [&](const auto& call) {
                 call->Finish({}, Pieces(std::string(1000000, 'a')),
                              std::shared_ptr<void>(nullptr, [&](void*) { released.set_value(); }));
               }});
  Start();
  EXPECT_EQ(Ask(channel, "/t/Hold", "").message.size(), 1000000);
  EXPECT_EQ(released.get_future().wait_for(kLong), std::future_status::ready);
}

TEST_F(GrpcServer, ACallWhoseAnswerHasTooLargeMetadataIsAnInternalError) {
  const std::string large(70000, 'm');
  service->Add("/t/Head", {.handler = [&](const auto& call) {
                 call->AddInitialMetadata("x-large", large);
                 call->Finish({});
               }});
  service->Add("/t/End", {.handler = [&](const auto& call) {
                 call->AddTrailingMetadata("x-large", large);
                 call->Finish({}, call->TakeRequest());
               }});
  Start();
  for (const char* method : {"/t/Head", "/t/End"}) {
    EXPECT_EQ(Ask(channel, method, "hello").status.error_code(), ::grpc::StatusCode::INTERNAL) << method;
  }
  EXPECT_TRUE(Ask(channel, "/t/Echo", "").status.ok());
}

TEST_F(GrpcServer, AHandlerThatThrowsFailsOnlyItsCall) {
  service->Add("/t/Throw", {.handler = [](const auto&) { throw std::bad_alloc(); }});
  Start();
  EXPECT_EQ(Ask(channel, "/t/Throw", "").status.error_code(), ::grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Ask(channel, "/t/Echo", "").status.ok());
}

// A client's stream whose steps wait for one another.
class ClientStream {
 public:
  ClientStream(const std::shared_ptr<::grpc::Channel>& channel, const std::string& method) : stub_(channel) {
    stream_ = stub_.PrepareCall(&context_, method, &queue_);
    stream_->StartCall(this);
    EXPECT_TRUE(Next());
  }
  ~ClientStream() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    for (bool ok = false; queue_.Next(&tag, &ok);) continue;
  }
  bool Write(const std::string& message) {
    stream_->Write(rpc::ToByteBuffer(Pieces(message)), this);
    return Next();
  }
  std::optional<std::string> Read() {
    ::grpc::ByteBuffer message;
    stream_->Read(&message, this);
    if (!Next()) return std::nullopt;
    return rpc::ToPieces(message).ToString();
  }
  bool WritesDone() {
    stream_->WritesDone(this);
    return Next();
  }
  ::grpc::Status Finish() {
    ::grpc::Status status;
    stream_->Finish(&status, this);
    Next();
    return status;
  }
  void Cancel() { context_.TryCancel(); }

 private:
  bool Next() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }
  ::grpc::GenericStub stub_;
  ::grpc::ClientContext context_;
  ::grpc::CompletionQueue queue_;
  std::unique_ptr<::grpc::GenericClientAsyncReaderWriter> stream_;
};

TEST_F(GrpcServer, EchoesTheMessagesOfAStream) {
  Start();
  ClientStream stream(channel, "/t/Stream");
  for (const size_t size : {0, 10, 5000, 3000000}) {
    EXPECT_TRUE(stream.Write(std::string(size, 'm')));
    EXPECT_EQ(stream.Read(), std::string(size, 'm'));
  }
  EXPECT_TRUE(stream.WritesDone());
  EXPECT_EQ(stream.Read(), std::nullopt);
  EXPECT_TRUE(stream.Finish().ok());
}

TEST_F(GrpcServer, ACancelledStreamEndsItsReads) {
  std::promise<void> ended;
  service->Add("/t/Read", {.kind = Method::Kind::kStreaming, .handler = [&](const auto& call) {
                             call->Read([&ended, call](std::optional<Pieces> message) {
                               EXPECT_EQ(message, std::nullopt);
                               ended.set_value();
                             });
                           }});
  Start();
  ClientStream stream(channel, "/t/Read");
  stream.Cancel();
  EXPECT_EQ(ended.get_future().wait_for(kLong), std::future_status::ready);
}

TEST_F(GrpcServer, DrainWaitsForTheCallsInProgress) {
  std::promise<std::shared_ptr<Call>> arrived;
  service->Add("/t/Wait", {.handler = [&](const auto& call) { arrived.set_value(call); }});
  Start();
  std::thread client([&] { EXPECT_EQ(Ask(channel, "/t/Wait", "").message, "answer"); });
  const auto call = arrived.get_future().get();
  std::thread drain([&] { server->Drain(std::chrono::duration_cast<milliseconds>(kLong)); });
  call->Finish({}, Pieces(std::string("answer")));
  client.join();
  drain.join();
  EXPECT_EQ(server->connections(), 0);
  EXPECT_EQ(server->listen_fd(), -1);
}

TEST_F(GrpcServer, AConnectionAgesOutBetweenCalls) {
  service->Add("/t/Peer", {.handler = [](const auto& call) { call->Finish({}, Pieces(call->peer().address)); }});
  http2::Options options;
  options.connection_age_max = milliseconds(100);
  Start(options);
  const std::string first = Ask(channel, "/t/Peer", "").message;
  const auto until = std::chrono::steady_clock::now() + kLong;
  std::string now = first;
  while (now == first && std::chrono::steady_clock::now() < until) {
    const Answer answer = Ask(channel, "/t/Peer", "");
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    now = answer.message;
  }
  EXPECT_NE(now, first);
}

TEST_F(GrpcServer, ServesTlsClientsWithTheirCertificates) {
  const auto authority = *tls::MakeAuthority("test", std::chrono::hours(1));
  const auto own = *tls::Issue(authority, {.name = "s", .dns_names = {"localhost"}}, std::chrono::hours(1));
  const auto theirs = *tls::Issue(authority, {.name = "c", .dns_names = {"client.example"}}, std::chrono::hours(1));
  http2::Options options;
  options.tls = std::make_shared<tls::Identities>(
      "test", [] { return tls::Identity(); },
      tls::Identity{
          .certificate = own.certificate, .key = own.key, .client_ca = authority.certificate, .verify_client = true});
  service->gate = [](const CallHead& head) -> Status {
    if (!head.HasDnsName("client.example")) return Fail(Code::kPermissionDenied, "no certificate");
    return {};
  };
  Start(options);
  ::grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("localhost");
  const auto secure = ::grpc::CreateCustomChannel(
      target(),
      rpc::MakeChannelCredentials(
          {.server_ca = authority.certificate, .certificate = theirs.certificate, .key = theirs.key}),
      arguments);
  for (const size_t size : {1, 600000}) {
    const Answer answer = Ask(secure, "/t/Echo", std::string(size, 'm'));
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_EQ(answer.message, std::string(size, 'm'));
  }
  EXPECT_EQ(Ask(channel, "/t/Echo", "plain").status.error_code(), ::grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GrpcServer, RefusesTlsClientsWithoutACertificateOfTheCurrentAuthority) {
  const auto first = *tls::MakeAuthority("first", std::chrono::hours(1));
  const auto second = *tls::MakeAuthority("second", std::chrono::hours(1));
  const auto own = *tls::Issue(first, {.name = "s", .dns_names = {"localhost"}}, std::chrono::hours(1));
  const auto trusting = [&own](const tls::KeyPair& authority) {
    return tls::Identity{
        .certificate = own.certificate, .key = own.key, .client_ca = authority.certificate, .verify_client = true};
  };
  http2::Options options;
  options.tls = std::make_shared<tls::Identities>(
      "test", [&] { return trusting(second); }, trusting(first));
  Start(options);
  const auto code_for = [&](const tls::KeyPair& client) {
    ::grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("localhost");
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto credentials = rpc::MakeChannelCredentials(
        {.server_ca = first.certificate, .certificate = client.certificate, .key = client.key});
    return Ask(::grpc::CreateCustomChannel(target(), credentials, arguments), "/t/Echo", "m").status.error_code();
  };
  const auto of_first = *tls::Issue(first, {.name = "c"}, std::chrono::hours(1));
  const auto of_second = *tls::Issue(second, {.name = "c"}, std::chrono::hours(1));
  EXPECT_EQ(code_for(of_first), ::grpc::StatusCode::OK);
  EXPECT_EQ(code_for(of_second), ::grpc::StatusCode::UNAVAILABLE) << "a certificate of another authority";
  EXPECT_EQ(code_for({}), ::grpc::StatusCode::UNAVAILABLE) << "no certificate";
  options.tls->Reload();
  EXPECT_EQ(code_for(of_second), ::grpc::StatusCode::OK) << "the server has not been restarted";
  EXPECT_EQ(code_for(of_first), ::grpc::StatusCode::UNAVAILABLE) << "the authority has been replaced";
}

TEST_F(GrpcServer, ACallThatEndsAtItsHeadDoesNotReachTheHandler) {
  std::atomic<int> handled = 0;
  service->Add("/t/Refuse", {.handler = [&handled](const auto&) { ++handled; },
                             .on_head = [](const auto& call) { call->Finish(ResourceExhausted("full")); }});
  service->Add("/t/Admit", {.handler = [](const auto& call) { call->Finish({}, call->TakeRequest()); },
                            .on_head = [](const auto&) {}});
  Start();
  const Answer refused = Ask(channel, "/t/Refuse", std::string(3000000, 'm'));
  EXPECT_EQ(refused.status.error_code(), ::grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.status.error_message(), "full");
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(Ask(channel, "/t/Admit", "hello").message, "hello");
}

TEST_F(GrpcServer, TellsWhenAStreamHasEndedAlsoIfItHadEndedBefore) {
  std::promise<void> ended, ended_before;
  service->Add("/t/Ends", {.kind = Method::Kind::kStreaming, .handler = [&](const auto& call) {
                             call->AfterEnd([&ended, &ended_before, call] {
                               call->AfterEnd([&ended_before] { ended_before.set_value(); });
                               ended.set_value();
                             });
                             call->Finish({});
                           }});
  Start();
  Ask(channel, "/t/Ends", "hello");
  EXPECT_EQ(ended.get_future().wait_for(kLong), std::future_status::ready);
  EXPECT_EQ(ended_before.get_future().wait_for(kLong), std::future_status::ready);
}

TEST_F(GrpcServer, GeneratedMessagesAreReadAndWritten) {
  using ::grpc::health::v1::HealthCheckRequest;
  using ::grpc::health::v1::HealthCheckResponse;
  service->Add("/t/Typed", Unary<HealthCheckRequest, HealthCheckResponse>(
                               [](const HealthCheckRequest& request) -> Result<HealthCheckResponse> {
                                 if (request.service() != "s") return NotFound("no {}", request.service());
                                 HealthCheckResponse response;
                                 response.set_status(HealthCheckResponse::SERVING);
                                 return response;
                               }));
  Start();
  HealthCheckRequest request;
  request.set_service("s");
  HealthCheckResponse response;
  ASSERT_TRUE(response.ParseFromString(Ask(channel, "/t/Typed", request.SerializeAsString()).message));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  request.set_service("t");
  EXPECT_EQ(Ask(channel, "/t/Typed", request.SerializeAsString()).status.error_message(), "no t");
  const Answer malformed = Ask(channel, "/t/Typed", "\xff");
  EXPECT_EQ(malformed.status.error_code(), ::grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(malformed.status.error_message(), "malformed HealthCheckRequest (1 bytes)");
}

}  // namespace
}  // namespace longshore::grpc_server
