// Tests the command "profile" against a fake of a node's administration listener.
#include "controller/cli/profile.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <sstream>

#include "common/json/json.h"
#include "common/net/http/server.h"
#include "common/net/http_client/testing.h"
#include "common/os/file.h"

namespace longshore::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string StateOf(int id, const std::string& state, int runs) {
  return Json{{"id", id}, {"state", state}, {"runs", runs}, {"nodes", 7}}.dump();
}

std::string TraceOf(const std::string& state) {
  return R"({"displayTimeUnit":"ms","otherData":)" + state + ",\"traceEvents\":[\n]}\n";
}

class Profile : public testing::Test {
 protected:
  Profile() {
    std::string pattern = testing::TempDir() + "profile.XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    options_.out = dir_ / "trace.json";
    server_ =
        http::Server::Start({.address = "127.0.0.1:0"}, [this](const http::Request& request, const auto& respond) {
          respond(Answer(request));
        }).value();
    options_.address = fmt::format("127.0.0.1:{}", server_->port());
  }
  ~Profile() override {
    server_.reset();
    std::filesystem::remove_all(dir_);
  }

  http::Response Answer(const http::Request& request) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(request.method + " " + request.target);
    if (request.method == "POST")
      return {.status = begins_, .body = begins_ == 200 ? StateOf(1, "recording", 0) : refusal_};
    if (request.target == "/debug/profile") return {.body = trace_};
    const std::string state = states_.front();
    if (states_.size() > 1) states_.erase(states_.begin());
    return {.body = state};
  }

  Status Record() { return RecordProfile(options_, out_, notes_); }
  std::string Refusal() {
    const Status recorded = Record();
    return recorded ? "" : recorded.error().message;
  }
  size_t FilesWritten() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(dir_), {}));
  }

  std::mutex mutex_;  // Guards the members that the server's thread also uses.
  int begins_ = 200;
  std::string refusal_ = StateOf(1, "recording", 0);
  std::vector<std::string> states_ = {StateOf(1, "recording", 1), StateOf(1, "done", 2)};
  std::string trace_ = TraceOf(StateOf(1, "done", 2));
  std::vector<std::string> asked_;
  Path dir_;
  ProfileOptions options_{.address = "", .model = "", .runs = 2, .seconds = 5, .out = "", .token_file = {}};
  std::ostringstream out_, notes_;
  std::unique_ptr<http::Server> server_;
};

TEST_F(Profile, WritesTheTraceOnceTheNodeHasRecorded) {
  const Status recorded = Record();
  ASSERT_TRUE(recorded) << recorded.error().message;
  EXPECT_THAT(asked_, ElementsAre("POST /debug/profile", "GET /debug/profile/state", "GET /debug/profile/state",
                                  "GET /debug/profile"));
  EXPECT_EQ(ReadFile(options_.out).value(), TraceOf(StateOf(1, "done", 2)));
  EXPECT_EQ(FilesWritten(), 1U);
  EXPECT_THAT(notes_.str(), HasSubstr("trace.json: 2 runs, 7 graph nodes"));
}

TEST_F(Profile, PrintsTheTraceToStandardOutputForADash) {
  options_.out = "-";
  ASSERT_TRUE(Record());
  EXPECT_EQ(out_.str(), TraceOf(StateOf(1, "done", 2)));
}

TEST_F(Profile, ReportsRunsThatTheNodeHadNoMemoryToRecord) {
  Json state = ParseJson(StateOf(1, "done", 1)).value();
  state["runs_left_out"] = 1;
  trace_ = TraceOf(state.dump());  // The last poll does not report the left-out run; the trace does.
  ASSERT_TRUE(Record());
  EXPECT_THAT(notes_.str(), HasSubstr("did not record 1 of the runs"));
}

TEST_F(Profile, GivesUpWhenAnotherRecordingBeginsWhileItWaits) {
  states_ = {StateOf(1, "recording", 1), StateOf(2, "done", 1)};
  EXPECT_THAT(Refusal(), HasSubstr("another recording"));
  EXPECT_EQ(FilesWritten(), 0U);
}

TEST_F(Profile, WritesNoTraceOfAnotherRecording) {
  trace_ = TraceOf(StateOf(2, "done", 2));
  EXPECT_THAT(Refusal(), HasSubstr("another recording"));
  trace_ = "{}";
  EXPECT_THAT(Refusal(), HasSubstr("trace"));
  EXPECT_EQ(FilesWritten(), 0U);
}

TEST_F(Profile, SaysThatAnotherListenerAnswered) {
  begins_ = 404;
  refusal_ = "<!DOCTYPE HTML PUBLIC>\n<HTML><HEAD><TITLE>404 Not Found</TITLE></HEAD></HTML>";
  EXPECT_THAT(Refusal(), HasSubstr("this is not the administration listener of a node"));
  refusal_ = "model \"x\" is not known";
  EXPECT_THAT(Refusal(), HasSubstr("model \"x\" is not known"));
}

TEST_F(Profile, SaysThatAListenerForGrpcAnswered) {
  const http_client::RawServer grpc([](const std::string&, const http_client::RawServer::Peer& peer) {
    peer.Send(std::string_view("\0\0\0\4\0\0\0\0\0", 9));  // The settings of HTTP/2.
    return false;
  });
  options_.address = grpc.url();
  EXPECT_THAT(Refusal(), HasSubstr("this is not the administration listener of a node"));
}

TEST_F(Profile, DoesNotStartARecordingThatCannotBeWritten) {
  options_.out = dir_ / "none/trace.json";
  EXPECT_THAT(Refusal(), HasSubstr("--out: cannot write to folder"));
  options_.out = dir_;
  EXPECT_THAT(Refusal(), HasSubstr("is a folder"));
  EXPECT_TRUE(asked_.empty());
}

TEST_F(Profile, LeavesTheFileUnchangedWhenTheNodeRefuses) {
  begins_ = 409;
  ASSERT_TRUE(WriteFileAtomically(options_.out, "before"));
  EXPECT_EQ(Record().error().code, Code::kFailedPrecondition);
  EXPECT_EQ(ReadFile(options_.out).value(), "before");
  EXPECT_EQ(FilesWritten(), 1U);
}

}  // namespace
}  // namespace longshore::cli
