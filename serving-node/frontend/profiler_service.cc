#include "serving-node/frontend/profiler_service.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "common/net/grpc/status.h"
#include "common/os/log.h"
#include "serving-node/observe/profiling/xspace.h"

namespace longshore::frontend {
namespace {

using ::grpc::CallbackServerContext;
using ::grpc::ServerUnaryReactor;
using profiling::Recording;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using tensorflow::ProfileRequest;
using tensorflow::ProfileResponse;

constexpr std::string_view kContention = "Another profiling session active.";  // TensorFlow's text.
constexpr std::string_view kFile = "xplane.pb";  // The end of the name by which TensorBoard finds the file.
constexpr milliseconds kPoll{10};

// The times of a session, from its request.
struct Times {
  milliseconds delay;
  milliseconds duration;
};

Result<Times> TimesOf(const ProfileRequest& request, nanoseconds since_1970) {
  const auto max = static_cast<uint64_t>(milliseconds(profiling::kTimeMax).count());
  const auto now = static_cast<uint64_t>(since_1970.count());
  const uint64_t start = request.opts().start_timestamp_ns();
  const uint64_t delay = start > now ? (start - now) / 1'000'000 : 0;
  const uint64_t duration = request.opts().duration_ms() > 0 ? request.opts().duration_ms() : request.duration_ms();
  if (delay > max || duration > max - delay) {
    return InvalidArgument("the profile would begin in {} ms and take {} ms: it must end within {} ms", delay, duration,
                           max);
  }
  return Times{milliseconds(delay), milliseconds(duration)};
}

void Fill(const Recording& recording, const ProfileRequest& request, ProfileResponse* response) {
  tensorflow::profiler::XSpace space = profiling::ToXSpace(recording, request.host_name());
  response->set_empty_trace(false);
  if (request.emit_xspace()) {
    *response->mutable_xspace() = std::move(space);
    return;
  }
  tensorflow::ProfileToolData& file = *response->add_tool_data();
  file.set_name(std::string(kFile));
  file.set_data(space.SerializeAsString());
}

ServerUnaryReactor* Finished(CallbackServerContext* context, const ::grpc::Status& status) {
  ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

}  // namespace

// One Profile call. Deletes itself when the call ends.
class ProfilerService::Session final : public ServerUnaryReactor {
 public:
  Session(ProfilerService& service, const ProfileRequest& request, Times times, ProfileResponse* response)
      : service_(service), request_(request), times_(times), response_(response) {}

  const std::string& id() const { return request_.session_id(); }

  // Requires that service_.mutex_ is held.
  void End() {
    ended_ = true;
    service_.changed_.notify_all();
  }

  // Records, and answers the call. Nothing may use this object afterwards.
  void Run() {
    const Status done = Record();
    {
      const std::lock_guard lock(service_.mutex_);
      service_.session_ = nullptr;
    }
    Finish(done ? ::grpc::Status::OK : rpc::ToGrpc(done.error()));
  }

  void OnCancel() override {
    const std::lock_guard lock(service_.mutex_);
    cancelled_ = true;
    End();
  }
  void OnDone() override { delete this; }

 private:
  Status Record() {
    Wait(times_.delay);
    const auto id = service_.recorder_.Start({.model = "", .runs = profiling::kRunsMax, .time = times_.duration});
    if (!id) return Fail(Code::kInternal, "{} {}", kContention, id.error().message);
    spdlog::info("a client records a profile for {} ms", times_.duration.count());
    Wait(times_.duration);
    service_.recorder_.Stop(*id);
    ASSIGN_OR_RETURN(const Recording recording, Recorded(*id));
    try {
      Fill(recording, request_, response_);
    } catch (const std::bad_alloc&) {
      return ResourceExhausted("memory does not suffice for this profile");
    }
    return {};
  }

  // Returns the recording once its last run has ended.
  Result<Recording> Recorded(int64_t id) {
    for (;;) {
      auto recording = service_.recorder_.recording();
      if (!recording || recording->id != id) return Unavailable("another recording began before this one was read");
      if (IsCancelled()) return Fail(Code::kCancelled, "the client cancelled the profile");
      if (recording->done) return std::move(*recording);
      std::this_thread::sleep_for(kPoll);
    }
  }

  // Returns after the time, or when the session ends.
  void Wait(milliseconds time) {
    std::unique_lock lock(service_.mutex_);
    service_.changed_.wait_for(lock, time, [this] { return ended_; });
  }

  bool IsCancelled() const {
    const std::lock_guard lock(service_.mutex_);
    return cancelled_;
  }

  ProfilerService& service_;
  const ProfileRequest& request_;
  const Times times_;
  ProfileResponse* const response_;
  bool ended_ = false;      // Guarded by service_.mutex_.
  bool cancelled_ = false;  // Guarded by service_.mutex_.
};

ProfilerService::ProfilerService(profiling::Recorder& recorder)
    : recorder_(recorder), thread_([this] { RunSessions(); }) {}

ProfilerService::~ProfilerService() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void ProfilerService::RunSessions() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || session_ != nullptr; });
    if (session_ == nullptr) return;
    Session& session = *session_;
    lock.unlock();
    session.Run();
  }
}

void ProfilerService::EndSession() {
  const std::lock_guard lock(mutex_);
  if (session_ != nullptr) session_->End();
}

Status ProfilerService::Begin(Session* session) {
  const std::lock_guard lock(mutex_);
  if (session_ != nullptr) return Fail(Code::kInternal, "{}", kContention);
  session_ = session;
  changed_.notify_all();
  return {};
}

ServerUnaryReactor* ProfilerService::Profile(CallbackServerContext* context, const ProfileRequest* request,
                                             ProfileResponse* response) {
  const auto times = TimesOf(*request, std::chrono::system_clock::now().time_since_epoch());
  if (!times) return Finished(context, rpc::ToGrpc(times.error()));
  auto* session = new Session(*this, *request, *times, response);
  if (const Status begun = Begin(session); !begun) session->Finish(rpc::ToGrpc(begun.error()));
  return session;
}

ServerUnaryReactor* ProfilerService::Terminate(CallbackServerContext* context,
                                               const tensorflow::TerminateRequest* request,
                                               tensorflow::TerminateResponse*) {
  {
    const std::lock_guard lock(mutex_);
    if (session_ != nullptr && session_->id() == request->session_id()) session_->End();
  }
  return Finished(context, ::grpc::Status::OK);
}

ServerUnaryReactor* ProfilerService::Monitor(CallbackServerContext* context, const tensorflow::MonitorRequest*,
                                             tensorflow::MonitorResponse*) {
  return Finished(context, {::grpc::StatusCode::UNIMPLEMENTED,
                            "Monitor is not implemented: read the metrics of the administration port instead"});
}

}  // namespace longshore::frontend
