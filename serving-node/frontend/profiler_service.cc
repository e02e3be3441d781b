#include "serving-node/frontend/profiler_service.h"

#include <chrono>
#include <functional>
#include <new>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "common/os/log.h"
#include "serving-node/frontend/grpc_call.h"
#include "serving-node/observe/profiling/xspace.h"

namespace longshore::frontend {
namespace {

using profiling::Recording;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using tensorflow::MonitorRequest;
using tensorflow::MonitorResponse;
using tensorflow::ProfileRequest;
using tensorflow::ProfileResponse;
using tensorflow::TerminateRequest;
using tensorflow::TerminateResponse;

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

ProfileResponse ToResponse(const Recording& recording, const std::string& host, bool as_xspace) {
  tensorflow::profiler::XSpace space = profiling::ToXSpace(recording, host);
  ProfileResponse response;
  response.set_empty_trace(false);
  if (as_xspace) {
    *response.mutable_xspace() = std::move(space);
    return response;
  }
  tensorflow::ProfileToolData& file = *response.add_tool_data();
  file.set_name(std::string(kFile));
  file.set_data(space.SerializeAsString());
  return response;
}

}  // namespace

// One Profile call. Belongs to the service, because the call may end before it.
class ProfilerService::Session {
 public:
  using Done = std::function<void(Result<ProfileResponse>)>;

  // `done` is called once; `cancelled` is requested to stop when the client no longer waits for the answer.
  Session(ProfilerService& service, const ProfileRequest& request, Times times, Done done, std::stop_token cancelled)
      : service_(service),
        id_(request.session_id()),
        host_(request.host_name()),
        as_xspace_(request.emit_xspace()),
        times_(times),
        done_(std::move(done)),
        cancelled_(std::move(cancelled)),
        on_cancel_(cancelled_, [this] {
          const std::lock_guard lock(service_.mutex_);
          End();
        }) {}

  const std::string& id() const { return id_; }

  // Requires that service_.mutex_ is held.
  void End() {
    ended_ = true;
    service_.changed_.notify_all();
  }

  Result<ProfileResponse> Record() {
    Wait(times_.delay);
    const auto id = service_.recorder_.Start({.model = "", .runs = profiling::kRunsMax, .time = times_.duration});
    if (!id) return Fail(Code::kInternal, "{} {}", kContention, id.error().message);
    spdlog::info("a client records a profile for {} ms", times_.duration.count());
    Wait(times_.duration);
    service_.recorder_.Stop(*id);
    ASSIGN_OR_RETURN(const Recording recording, Recorded(*id));
    try {
      return ToResponse(recording, host_, as_xspace_);
    } catch (const std::bad_alloc&) {
      return ResourceExhausted("memory does not suffice for this profile");
    }
  }

  void Answer(Result<ProfileResponse> answer) const { done_(std::move(answer)); }

 private:
  // Returns the recording once its last run has ended.
  Result<Recording> Recorded(int64_t id) {
    for (;;) {
      auto recording = service_.recorder_.recording();
      if (!recording || recording->id != id) return Unavailable("another recording began before this one was read");
      if (cancelled_.stop_requested()) return Fail(Code::kCancelled, "the client cancelled the profile");
      if (recording->done) return std::move(*recording);
      std::this_thread::sleep_for(kPoll);
    }
  }

  // Returns after the time, or when the session ends.
  void Wait(milliseconds time) {
    std::unique_lock lock(service_.mutex_);
    service_.changed_.wait_for(lock, time, [this] { return ended_; });
  }

  ProfilerService& service_;
  const std::string id_;
  const std::string host_;
  const bool as_xspace_;
  const Times times_;
  const Done done_;
  bool ended_ = false;  // Guarded by service_.mutex_.
  const std::stop_token cancelled_;
  const std::stop_callback<std::function<void()>> on_cancel_;  // Last member, because it uses the others.
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
    auto answer = session.Record();
    lock.lock();
    const std::unique_ptr<Session> ended = std::move(session_);
    lock.unlock();  // The destructor of the session waits for its cancellation, which takes the lock.
    ended->Answer(std::move(answer));
  }
}

void ProfilerService::Drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
  if (session_ != nullptr) session_->End();
}

Status ProfilerService::Begin(std::unique_ptr<Session>* session) {
  const std::lock_guard lock(mutex_);
  if (draining_) return Unavailable("this server is shutting down and begins no more profiles");
  if (session_ != nullptr) return Fail(Code::kInternal, "{}", kContention);
  session_ = std::move(*session);
  changed_.notify_all();
  return {};
}

void ProfilerService::Profile(Call& call, const ProfileRequest& request, ProfileDone done) {
  const auto times = TimesOf(request, std::chrono::system_clock::now().time_since_epoch());
  if (!times) return done(tl::make_unexpected(times.error()));
  auto session = std::make_unique<Session>(*this, request, *times, done, call.cancelled());
  if (const Status begun = Begin(&session); !begun) done(tl::make_unexpected(begun.error()));
}

void ProfilerService::Terminate(const std::string& session) {
  const std::lock_guard lock(mutex_);
  if (session_ != nullptr && session_->id() == session) session_->End();
}

void ProfilerService::AddTo(grpc_server::Service& service) {
  const std::string prefix = "/tensorflow.ProfilerService/";
  service.Add(prefix + "Profile", Query<ProfileRequest, ProfileResponse>(
                                      [this](const CallPtr& call, const ProfileRequest& request, ProfileDone done) {
                                        Profile(*call, request, std::move(done));
                                      }));
  service.Add(prefix + "Terminate", grpc_server::Unary<TerminateRequest, TerminateResponse>(
                                        [this](const TerminateRequest& request) -> Result<TerminateResponse> {
                                          Terminate(request.session_id());
                                          return TerminateResponse();
                                        }));
  service.Add(prefix + "Monitor",
              grpc_server::Unary<MonitorRequest, MonitorResponse>([](const MonitorRequest&) -> Result<MonitorResponse> {
                return Unimplemented("Monitor is not implemented: read the metrics of the administration port instead");
              }));
}

}  // namespace longshore::frontend
