// One stream to a controller, from the dialling to its end.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <string>

#include "longshore/control.grpc.pb.h"

namespace longshore::control {

// One thread reads; any may write or cancel.
class Session {
 public:
  // `target` is a gRPC target. Returns at once; the first write waits for the connection.
  explicit Session(const std::string& target);

  // False once the stream has ended.
  bool Read(FromController* message) { return stream_->Read(message); }
  bool Write(const FromNode& message);
  // Ends it; reads and writes that wait return false.
  void Cancel() { context_.TryCancel(); }
  // Why it ended. Requires: no thread reads or writes any more.
  ::grpc::Status Finish() { return stream_->Finish(); }

 private:
  ::grpc::ClientContext context_;
  const std::shared_ptr<::grpc::Channel> channel_;
  const std::unique_ptr<NodeControl::Stub> stub_;
  const std::unique_ptr<::grpc::ClientReaderWriter<FromNode, FromController>> stream_;
  std::mutex write_mutex_;
};

}  // namespace longshore::control
