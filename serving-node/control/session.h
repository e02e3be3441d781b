// One stream to a controller, from dialling to its end.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <string>

#include "common/base/error.h"
#include "common/base/path.h"
#include "longshore/control.grpc.pb.h"

namespace longshore::control {

struct DialOptions {
  std::string target{};  // A gRPC target, such as "unix:/dir/controller.sock", "host:port" or "dns:///host:port".
  // Both files are read again for each session, because they are rotated.
  Path ca_file{};     // The CA of the controller's certificate; empty for plaintext.
  Path token_file{};  // This node's bearer token; empty for none. Requires a ca_file.
};

// Only one thread may read. Any thread may write or cancel.
class Session {
 public:
  // Returns immediately; the first write waits for the connection. Returns NotFound or another error if a file cannot
  // be read.
  static Result<std::unique_ptr<Session>> Dial(const DialOptions& options);

  // Both return false once the stream has ended.
  bool Read(FromController* message) { return stream_->Read(message); }
  bool Write(const FromNode& message);
  // Ends the stream: blocked reads and writes return false.
  void Cancel() { context_.TryCancel(); }
  // Returns the status with which the stream ended. Requires: no thread reads or writes any more.
  ::grpc::Status Finish() { return stream_->Finish(); }

 private:
  Session(std::shared_ptr<::grpc::Channel> channel, const std::string& authorization);

  ::grpc::ClientContext context_;
  const std::shared_ptr<::grpc::Channel> channel_;
  const std::unique_ptr<NodeControl::Stub> stub_;
  std::unique_ptr<::grpc::ClientReaderWriter<FromNode, FromController>> stream_;
  std::mutex write_mutex_;
};

}  // namespace longshore::control
