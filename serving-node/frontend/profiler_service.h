// TensorFlow's ProfilerService: clients such as TensorBoard record what the runs of the next seconds do.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/net/grpc_server/messages.h"
#include "serving-node/observe/profiling/recorder.h"
#include "tensorflow/profiler_service.pb.h"

namespace longshore::frontend {

// Thread-safe. Returns profiles in its answers, and writes no files: a client cannot name a path of this machine. One
// session at a time. Must outlive all calls of the server.
class ProfilerService {
 public:
  // The recorder must outlive the service. Other users of the recorder may have recordings in progress; a session then
  // gets an error.
  explicit ProfilerService(profiling::Recorder& recorder);
  ~ProfilerService();

  // Adds the methods, which use this object. Profile: UNAVAILABLE after Drain; INTERNAL while another recording is in
  // progress, as in TensorFlow; INVALID_ARGUMENT if the session would take longer than profiling::kTimeMax.
  void AddTo(grpc_server::Service& service);

  // Ends the session: its client gets what was recorded. Begins no more sessions.
  void Drain();

 private:
  class Session;
  using ProfileDone = grpc_server::Done<tensorflow::ProfileResponse>;
  void Profile(grpc_server::Call& call, const tensorflow::ProfileRequest& request, ProfileDone done);
  void Terminate(const std::string& session);
  Status Begin(std::unique_ptr<Session>* session);
  void RunSessions();

  profiling::Recorder& recorder_;
  std::mutex mutex_;                  // Guards the members below and the state of the session.
  std::condition_variable changed_;   // A session began or ends, or the service stops.
  std::unique_ptr<Session> session_;  // Null once its answer is decided.
  bool draining_ = false;
  bool stopping_ = false;
  std::thread thread_;  // Runs the sessions. Last member, because it uses the others.
};

}  // namespace longshore::frontend
