#include "serving-node/control/session.h"

#include <utility>

#include "common/net/auth/tokens.h"
#include "common/net/grpc/credentials.h"
#include "common/os/file.h"

namespace longshore::control {
namespace {

constexpr size_t kFileBytesMax = size_t{1} << 20;
constexpr int kConnectMaxMs = 2000;

std::shared_ptr<::grpc::Channel> ChannelTo(const std::string& target,
                                           const std::shared_ptr<::grpc::ChannelCredentials>& credentials) {
  ::grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // The address of a replaced controller may not even refuse connections. This argument shortens a connection attempt,
  // so that the next address is tried soon.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMaxMs);
  return ::grpc::CreateCustomChannel(target, credentials, arguments);
}

}  // namespace

Result<std::unique_ptr<Session>> Session::Dial(const DialOptions& options) {
  std::string authorization;
  if (!options.token_file.empty()) {
    ASSIGN_OR_RETURN(const std::string token, auth::ReadToken(options.token_file));
    authorization = "Bearer " + token;
  }
  auto credentials = ::grpc::InsecureChannelCredentials();
  if (!options.ca_file.empty()) {
    ASSIGN_OR_RETURN(std::string ca, ReadFile(options.ca_file, kFileBytesMax));
    credentials = rpc::MakeChannelCredentials({.server_ca = std::move(ca), .certificate = {}, .key = {}});
  }
  return std::unique_ptr<Session>(new Session(ChannelTo(options.target, credentials), authorization));
}

Session::Session(std::shared_ptr<::grpc::Channel> channel, const std::string& authorization)
    : channel_(std::move(channel)), stub_(NodeControl::NewStub(channel_)) {
  if (!authorization.empty()) context_.AddMetadata("authorization", authorization);
  stream_ = stub_->Attach(&context_);
}

bool Session::Write(const FromNode& message) {
  const std::lock_guard lock(write_mutex_);
  return stream_->Write(message);
}

}  // namespace longshore::control
