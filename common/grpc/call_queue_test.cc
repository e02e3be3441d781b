#include "common/grpc/call_queue.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <new>
#include <stdexcept>
#include <vector>

#include "grpc/health.grpc.pb.h"

namespace longshore::rpc {
namespace {

using ::grpc::health::v1::Health;
using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;

std::mutex ends_mutex;
std::vector<Code> ends;
struct Counting {
  void Ended(Code code) const {
    const std::lock_guard lock(ends_mutex);
    ends.push_back(code);
  }
};
using CheckCall = UnaryCall<HealthCheckRequest, HealthCheckResponse, Counting>;

class CallQueueTest : public testing::Test {
 protected:
  CallQueueTest() { ends.clear(); }
  ~CallQueueTest() override { Shutdown(); }

  void Start(std::function<void(CheckCall&)> begin) {
    method_ = {[this](auto... arguments) { service_.RequestCheck(arguments...); }, std::move(begin)};
    ::grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    queue_ = std::make_unique<CallQueue>(builder);
    server_ = builder.BuildAndStart();
    queue_->Start();
    CheckCall::Await(method_, *queue_, 2);
    stub_ = Health::NewStub(
        ::grpc::CreateChannel("127.0.0.1:" + std::to_string(port), ::grpc::InsecureChannelCredentials()));
  }

  void Shutdown() {
    if (!server_) return;
    server_->Shutdown(std::chrono::system_clock::now());
    queue_->Stop();
    server_.reset();
  }

  ::grpc::Status Check(::grpc::ClientContext* context, HealthCheckResponse* response) {
    return stub_->Check(context, HealthCheckRequest(), response);
  }
  ::grpc::Status Check() {
    ::grpc::ClientContext context;
    HealthCheckResponse response;
    return Check(&context, &response);
  }

  CheckCall::Method method_;
  Health::AsyncService service_;
  std::unique_ptr<CallQueue> queue_;
  std::unique_ptr<::grpc::Server> server_;
  std::unique_ptr<Health::Stub> stub_;
};

void AnswerServing(CheckCall& call) {
  HealthCheckResponse response;
  response.set_status(HealthCheckResponse::SERVING);
  call.Finish(response);
}

TEST_F(CallQueueTest, AnswersAtOnceAndFromAnotherThreadLater) {
  std::vector<std::future<void>> answers;
  Start([&](CheckCall& call) {
    if (!CheckCall::Claim(call.ticket())) return;
    if (call.context().client_metadata().contains("now")) return AnswerServing(call);
    answers.push_back(std::async(std::launch::async, [&call] { AnswerServing(call); }));
  });
  for (int i = 0; i < 20; ++i) {
    ::grpc::ClientContext context;
    if (i % 2 == 0) context.AddMetadata("now", "");
    HealthCheckResponse response;
    EXPECT_TRUE(Check(&context, &response).ok());
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  }
  Shutdown();
  EXPECT_EQ(answers.size(), 10U);
  EXPECT_THAT(ends, testing::IsEmpty());
}

TEST_F(CallQueueTest, WhatIsThrownEndsOneCallAndTellsNothingOfItself) {
  int calls = 0;
  Start([&](CheckCall& call) {
    if (calls++ == 0) throw std::bad_alloc();
    if (calls == 2) throw std::runtime_error("secret");
    if (CheckCall::Claim(call.ticket())) AnswerServing(call);
    if (calls == 3) throw std::runtime_error("after the answer");
  });
  EXPECT_EQ(Check().error_code(), ::grpc::StatusCode::RESOURCE_EXHAUSTED);
  const ::grpc::Status internal = Check();
  EXPECT_EQ(internal.error_code(), ::grpc::StatusCode::INTERNAL);
  EXPECT_EQ(internal.error_message(), "the request could not be handled");
  EXPECT_TRUE(Check().ok());
  EXPECT_TRUE(Check().ok());
  Shutdown();
  EXPECT_THAT(ends, testing::ElementsAre(Code::kResourceExhausted, Code::kInternal));
}

TEST_F(CallQueueTest, AClientThatGoesIsNoticedAndALateAnswerFindsTheCallGone) {
  std::promise<std::stop_token> came;
  std::promise<CheckCall::Ticket> ticket;
  Start([&](CheckCall& call) {
    ticket.set_value(call.ticket());
    came.set_value(call.cancelled());
  });
  ::grpc::ClientContext context;
  HealthCheckResponse response;
  auto call = std::async(std::launch::async, [&] { return Check(&context, &response); });
  std::promise<void> stopped;
  const std::stop_callback on_stop(came.get_future().get(), [&] { stopped.set_value(); });
  context.TryCancel();
  EXPECT_EQ(call.get().error_code(), ::grpc::StatusCode::CANCELLED);
  stopped.get_future().wait();
  EXPECT_FALSE(CheckCall::Claim(ticket.get_future().get()));
  EXPECT_THAT(ends, testing::ElementsAre(Code::kCancelled));
}

TEST_F(CallQueueTest, AShutdownEndsCallsThatNobodyAnswers) {
  std::promise<void> came;
  Start([&](CheckCall&) { came.set_value(); });
  auto call = std::async(std::launch::async, [&] { return Check(); });
  came.get_future().wait();
  Shutdown();
  EXPECT_FALSE(call.get().ok());
  EXPECT_THAT(ends, testing::ElementsAre(Code::kCancelled));
}

// The server cuts the connection, but who claimed the call may still be writing the answer.
TEST_F(CallQueueTest, AShutdownWaitsForAnAnswerOnItsWay) {
  std::promise<CheckCall*> came;
  Start([&](CheckCall& call) {
    EXPECT_TRUE(CheckCall::Claim(call.ticket()));
    came.set_value(&call);
  });
  auto client = std::async(std::launch::async, [&] { return Check(); });
  CheckCall* call = came.get_future().get();
  auto shutdown = std::async(std::launch::async, [&] { Shutdown(); });
  EXPECT_FALSE(client.get().ok()) << "the shutdown is under way";
  EXPECT_EQ(shutdown.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  AnswerServing(*call);
  shutdown.get();
}

}  // namespace
}  // namespace longshore::rpc
