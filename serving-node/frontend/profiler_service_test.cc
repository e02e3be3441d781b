#include "serving-node/frontend/profiler_service.h"

#include <gmock/gmock.h>

#include <future>
#include <thread>

#include "common/net/grpc/status.h"
#include "serving-node/frontend/grpc_server.h"
#include "serving-node/frontend/testing.h"
#include "tensorflow/profiler_service.grpc.pb.h"

namespace longshore::frontend {
namespace {

using tensorflow::ProfileRequest;
using tensorflow::ProfileResponse;
using tensorflow::profiler::XSpace;
using testing::HasSubstr;

constexpr uint64_t kMinuteMs = 60'000;

ProfileRequest RequestFor(uint64_t duration_ms) {
  ProfileRequest request;
  request.mutable_opts()->set_duration_ms(duration_ms);
  request.set_session_id("s1");
  request.set_host_name("localhost_8500");
  return request;
}

size_t RunsIn(const XSpace& space) {
  size_t runs = 0;
  for (const auto& line : space.planes(0).lines()) {
    for (const auto& event : line.events()) {
      if (space.planes(0).event_metadata().at(event.metadata_id()).name() == "SessionRun") runs += 1;
    }
  }
  return runs;
}

class Profiler : public testing::Test {
 protected:
  Profiler() {
    // At this age a connection ends, for which Drain waits.
    Start({.connection_age_max_ms = 200});
  }

  void Start(GrpcOptions options) {
    options.listen = "127.0.0.1:0";
    options.profiles = &recorder_;
    auto started = GrpcServer::Start(std::move(options), predictor_, catalog_);
    CHECK(started);
    server_ = std::move(*started);
    stub_ = tensorflow::ProfilerService::NewStub(ChannelTo("127.0.0.1:" + std::to_string(server_->port())));
  }

  Result<ProfileResponse> Profile(const ProfileRequest& request) {
    ProfileResponse response;
    const auto status = stub_->Profile(context_.get(), request, &response);
    if (!status.ok()) return tl::make_unexpected(rpc::FromGrpc(status));
    return response;
  }
  // Returns once a session records.
  std::future<Result<ProfileResponse>> ProfileAtTheSameTime(const ProfileRequest& request) {
    auto answer = std::async(std::launch::async, [this, request] { return Profile(request); });
    while (!recorder_.recording()) std::this_thread::yield();
    return answer;
  }
  void RunOne() {
    const auto run = watch_->Begin();
    ASSERT_TRUE(run);
    watch_->Ended(run);
  }
  void Terminate(const std::string& session) {
    ::grpc::ClientContext context;
    tensorflow::TerminateRequest request;
    request.set_session_id(session);
    tensorflow::TerminateResponse response;
    EXPECT_TRUE(stub_->Terminate(&context, request, &response).ok());
  }

  SystemClock clock_;
  SteadyClock timer_;
  profiling::Recorder recorder_{clock_, timer_};
  const std::shared_ptr<batching::RunWatch> watch_ = recorder_.WatchOf("digits", 2);
  FakePredictor predictor_;
  FakeCatalog catalog_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<tensorflow::ProfilerService::Stub> stub_;
  std::unique_ptr<::grpc::ClientContext> context_ =
      std::make_unique<::grpc::ClientContext>();  // Of the call of Profile, of which a test has one.
};

TEST_F(Profiler, ReturnsAFileForTheClientToWrite) {
  auto answer = ProfileAtTheSameTime(RequestFor(kMinuteMs));
  RunOne();
  Terminate("s1");
  const auto response = answer.get();
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_FALSE(response->empty_trace());
  EXPECT_FALSE(response->has_xspace());
  ASSERT_EQ(response->tool_data_size(), 1);
  EXPECT_EQ(response->tool_data(0).name(), "xplane.pb");
  XSpace space;
  ASSERT_TRUE(space.ParseFromString(response->tool_data(0).data()));
  EXPECT_EQ(space.hostnames(0), "localhost_8500");
  EXPECT_EQ(RunsIn(space), 1U);
}

TEST_F(Profiler, ReturnsTheXSpaceIfTheClientWantsIt) {
  ProfileRequest request = RequestFor(1);
  request.set_emit_xspace(true);
  const auto response = Profile(request);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->tool_data_size(), 0);
  EXPECT_EQ(RunsIn(response->xspace()), 0U);
}

TEST_F(Profiler, TakesTheDurationOfOlderClients) {
  ProfileRequest request;
  request.set_duration_ms(1);
  ASSERT_TRUE(Profile(request));
  EXPECT_EQ(recorder_.recording()->wanted.time, std::chrono::milliseconds(1));
}

TEST_F(Profiler, BeginsAtTheTimeThatTheClientNames) {
  const auto start = std::chrono::system_clock::now() + std::chrono::milliseconds(20);
  ProfileRequest request = RequestFor(1);
  request.mutable_opts()->set_start_timestamp_ns(
      static_cast<uint64_t>(start.time_since_epoch() / std::chrono::nanoseconds(1)));
  ASSERT_TRUE(Profile(request));
  EXPECT_GE(recorder_.recording()->at + std::chrono::milliseconds(2), start);
}

TEST_F(Profiler, RefusesAProfileThatWouldTakeTooLong) {
  const auto response = Profile(RequestFor(300'001));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kInvalidArgument);
  EXPECT_THAT(response.error().message, HasSubstr("begin in 0 ms and take 300001 ms: it must end within 300000 ms"));
  EXPECT_FALSE(recorder_.recording());
}

TEST_F(Profiler, RefusesASecondSession) {
  auto answer = ProfileAtTheSameTime(RequestFor(kMinuteMs));
  ::grpc::ClientContext context;
  ProfileResponse response;
  const auto second = stub_->Profile(&context, RequestFor(1), &response);
  EXPECT_EQ(second.error_code(), ::grpc::StatusCode::INTERNAL);
  EXPECT_EQ(second.error_message(), "Another profiling session active.");
  Terminate("s1");
  EXPECT_TRUE(answer.get());
}

TEST_F(Profiler, RefusesASessionDuringAnotherRecording) {
  ASSERT_TRUE(recorder_.Start({}));
  const auto response = Profile(RequestFor(1));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kInternal);
  EXPECT_THAT(response.error().message, HasSubstr("Another profiling session active. a recording is in progress"));
}

TEST_F(Profiler, WaitsForTheRunsInProgress) {
  auto answer = ProfileAtTheSameTime(RequestFor(kMinuteMs));
  const auto run = watch_->Begin();
  Terminate("another session");
  Terminate("s1");
  while (watch_->Begin()) std::this_thread::yield();  // Until the recording accepts no more runs.
  watch_->Ended(run);
  const auto response = answer.get();
  ASSERT_TRUE(response);
  XSpace space;
  ASSERT_TRUE(space.ParseFromString(response->tool_data(0).data()));
  EXPECT_EQ(RunsIn(space), 1U);
}

TEST_F(Profiler, ACancelledSessionEndsItsRecording) {
  auto answer = ProfileAtTheSameTime(RequestFor(kMinuteMs));
  context_->TryCancel();
  EXPECT_EQ(answer.get().error().code, Code::kCancelled);
  while (!recorder_.recording()->done) std::this_thread::yield();
}

TEST_F(Profiler, AServerThatDrainsAnswersItsSession) {
  auto answer = ProfileAtTheSameTime(RequestFor(kMinuteMs));
  RunOne();
  std::thread drain([this] { server_->Drain(); });
  EXPECT_TRUE(answer.get());
  drain.join();
}

TEST_F(Profiler, AServerThatDrainsBeginsNoSessionOnAnOpenConnection) {
  Start({});  // Its connections have no maximum age.
  auto answer = ProfileAtTheSameTime(RequestFor(kMinuteMs));
  std::thread drain([this] { server_->Drain(); });
  EXPECT_TRUE(answer.get());
  auto context = std::make_unique<::grpc::ClientContext>();
  ProfileResponse response;
  const auto later = stub_->Profile(context.get(), RequestFor(1), &response);
  EXPECT_EQ(later.error_code(), ::grpc::StatusCode::UNAVAILABLE);
  // This closes the connection, for which the server waits: contexts keep the connections of their calls open.
  context.reset();
  context_.reset();
  stub_.reset();
  drain.join();
}

TEST_F(Profiler, AServerDestroyedWithoutADrainEndsItsSession) {
  auto answer = ProfileAtTheSameTime(RequestFor(kMinuteMs));
  server_.reset();
  EXPECT_FALSE(answer.get());
}

TEST_F(Profiler, MonitorIsNotImplemented) {
  ::grpc::ClientContext context;
  tensorflow::MonitorResponse response;
  const auto status = stub_->Monitor(&context, {}, &response);
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("metrics"));
}

}  // namespace
}  // namespace longshore::frontend
