// Wrong requests, which gRPC's own clients do not send.
#include "common/net/grpc_server/call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/net/http2/testing.h"

namespace longshore::grpc_server {
namespace {

using http2::Received;
using Fields = http2::TestClient::Fields;
using std::chrono::seconds;

const Fields kGrpc = {{"te", "trailers"}, {"content-type", "application/grpc"}};

Fields With(const std::string& name, const std::string& value) {
  Fields fields = kGrpc;
  fields.emplace_back(name, value);
  return fields;
}

std::string Message(const std::string& text, char flags = 0) {
  return std::string{flags, 0, 0, 0, static_cast<char>(text.size())} + text;
}

// Matches an answer without messages, which has this field.
auto HasField(const std::string& name, const std::string& value) {
  return testing::AllOf(testing::Field(&Received::has_ended, true),
                        testing::Field(&Received::fields, testing::Contains(testing::Pair(name, value))));
}
auto Failed(Code code) {
  return testing::AllOf(HasField(":status", "200"), HasField("grpc-status", std::string(StatusText(code))),
                        testing::Field(&Received::body, ""));
}

struct WrongCall : testing::Test {
  WrongCall() {
    service->Add("/t/Echo", {.handler = [this](const auto& call) {
                   ++handled;
                   call->Finish({}, call->TakeRequest());
                 }});
  }
  // The connection still serves other calls.
  void TearDown() override {
    const int before = handled;
    EXPECT_EQ(Ask(Message("good")).body, Message("good"));
    EXPECT_EQ(handled, before + 1);
    EXPECT_THAT(connection.client.goaways, testing::IsEmpty());
  }
  const Received& Ask(const std::string& body, const Fields& fields = kGrpc) {
    const int32_t id = connection.client.Request("/t/Echo", body, fields);
    connection.Run();
    return connection.client.streams[id];
  }
  void Pass(std::chrono::milliseconds time) {
    connection.now += time;
    connection.session.CheckDeadlines(connection.now);
    connection.Run();
  }

  http2::Limits limits{.header_bytes_max = 1000, .strikes_max = 20};
  std::shared_ptr<Service> service = std::make_shared<Service>();
  int handled = 0;
  http2::TestConnection connection{limits, [this](const auto& peer) { return std::make_shared<Call>(service, peer); }};
};

TEST_F(WrongCall, GetsTheStatus405IfItsMethodIsNotPost) {
  connection.client.method = "GET";
  const Received& answer = Ask("");
  EXPECT_THAT(answer, HasField(":status", "405"));
  EXPECT_THAT(answer, HasField("content-type", "text/plain"));
  EXPECT_EQ(answer.body, "this port serves gRPC, with the method POST\n");
  connection.client.method = "POST";
}

TEST_F(WrongCall, GetsTheStatus415IfItsContentTypeIsNotGrpc) {
  EXPECT_THAT(Ask("{}", {{"content-type", "application/json"}}), HasField(":status", "415"));
  EXPECT_THAT(Ask("{}", {{"te", "trailers"}}), HasField(":status", "415"));
}

TEST_F(WrongCall, GetsItsHttpStatusLaterIfItsBodyDoesNotEnd) {
  const int32_t id = connection.client.Request("/t/Echo", "{}", {}, false);
  connection.Run();
  Pass(seconds(4));
  EXPECT_TRUE(connection.client.streams[id].fields.empty());
  Pass(seconds(2));
  EXPECT_THAT(connection.client.streams[id], HasField(":status", "415"));
}

TEST_F(WrongCall, WithATooLargeHeadGetsAGrpcStatusAlsoWithoutContentType) {
  EXPECT_THAT(Ask(Message("hello"), {{"te", "trailers"}, {"x-large", std::string(2000, 'a')}}),
              Failed(Code::kResourceExhausted));
  EXPECT_EQ(handled, 0);
}

TEST_F(WrongCall, WithACompressedMessageMustNameTheEncoding) {
  EXPECT_THAT(Ask(Message("hello", 1)), Failed(Code::kInternal));
  EXPECT_THAT(Ask(Message("hello", 1), With("grpc-encoding", "identity")), Failed(Code::kInternal));
  EXPECT_THAT(Ask(Message("hello", 1), With("grpc-encoding", "gzip")), Failed(Code::kInternal));  // Damaged.
  EXPECT_EQ(handled, 0);
}

TEST_F(WrongCall, WithAnUnknownEncodingIsToldTheKnownOnes) {
  const Received& answer = Ask(Message("hello", 1), With("grpc-encoding", "br"));
  EXPECT_THAT(answer, Failed(Code::kUnimplemented));
  EXPECT_THAT(answer, HasField("grpc-accept-encoding", "identity, deflate, gzip"));
  EXPECT_EQ(handled, 0);
}

TEST_F(WrongCall, OfAUnaryMethodNeedsExactlyOneMessage) {
  EXPECT_THAT(Ask(""), Failed(Code::kUnimplemented));
  EXPECT_THAT(Ask(Message("one") + Message("two")), Failed(Code::kUnimplemented));
  EXPECT_THAT(Ask(Message("one") + std::string(1, 0)), Failed(Code::kInternal));
  EXPECT_THAT(Ask(Message("one").substr(0, 6)), Failed(Code::kInternal));
  EXPECT_EQ(handled, 0);
}

TEST_F(WrongCall, OfAStreamGetsNoMessageAboveTheLimit) {
  service->receive_bytes_max = 10;
  std::vector<std::string> received;
  std::function<void(const std::shared_ptr<Call>&)> read = [&](const std::shared_ptr<Call>& call) {
    call->Read([&, call](const std::optional<Pieces>& message) {
      if (!message) return call->Finish({});
      received.push_back(message->ToString());
      read(call);
    });
  };
  service->Add("/t/Stream", {.kind = Method::Kind::kStreaming, .handler = read});
  const std::string body = Message("good") + Message("eleven bytes") + Message("good");
  const int32_t id = connection.client.Request("/t/Stream", body, kGrpc, false);
  connection.Run();
  EXPECT_THAT(connection.client.streams[id], Failed(Code::kResourceExhausted));
  EXPECT_THAT(received, testing::ElementsAre("good"));
}

TEST_F(WrongCall, IsAnsweredAtItsDeadlineAndTheRestOfItsBodyIsIgnored) {
  const std::string body = Message("hello");
  const int32_t id = connection.client.Request("/t/Echo", body.substr(0, 7), With("grpc-timeout", "1S"), false);
  connection.Run();
  Pass(std::chrono::milliseconds(900));
  EXPECT_TRUE(connection.client.streams[id].fields.empty());
  Pass(std::chrono::milliseconds(200));
  EXPECT_THAT(connection.client.streams[id], Failed(Code::kDeadlineExceeded));
  connection.client.Raw(std::string("\0\0\3\0\1\0\0\0\1", 9) + body.substr(7));  // The client had sent it before.
  connection.Run();
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(connection.pool->taken(), 0);
}

// A call that the server does not answer well. The client has done nothing wrong.
struct FailedCall : WrongCall {};

TEST_F(FailedCall, PausesItsConnectionIfTheServerHasTooMuchWork) {
  Error error;
  service->Add("/t/Fail", {.handler = [&](const auto& call) { call->Finish(tl::make_unexpected(error)); }});
  const std::pair<Code, bool> cases[] = {{Code::kUnavailable, true},      {Code::kResourceExhausted, true},
                                         {Code::kDeadlineExceeded, true}, {Code::kAborted, true},
                                         {Code::kInvalidArgument, false}, {Code::kInternal, false}};
  for (const auto& [code, pauses] : cases) {
    error = {code, "no"};
    const int32_t id = connection.client.Request("/t/Fail", Message("hello"), kGrpc);
    connection.Run();
    EXPECT_THAT(connection.client.streams[id], Failed(code));
    EXPECT_EQ(connection.session.TakePause(), pauses) << StatusText(code);
  }
  Ask(Message("hello"));
  EXPECT_FALSE(connection.session.TakePause()) << "the call was answered";
}

TEST_F(FailedCall, IsResetIfItsAnswerHasTooLargeMetadata) {
  const std::string large(70000, 'm');
  for (const auto add : {&Call::AddInitialMetadata, &Call::AddTrailingMetadata}) {
    for (const Status& status : {Status(), Status(NotFound("no"))}) {
      service->Add("/t/Large", {.handler = [&](const auto& call) {
                     std::invoke(add, *call, "x-large", large);
                     call->Finish(status);
                   }});
      // As often as strikes_max: if the server counted these resets as strikes, it would end the connection.
      for (int i = 0; i < 20; ++i) {
        const int32_t id = connection.client.Request("/t/Large", Message("hello"), kGrpc);
        connection.Run();
        EXPECT_EQ(connection.client.streams[id].reset, NGHTTP2_INTERNAL_ERROR);
        EXPECT_EQ(connection.session.streams(), 0);
      }
    }
  }
}

}  // namespace
}  // namespace longshore::grpc_server
