#include "serving-node/control/session.h"

namespace longshore::control {
namespace {

std::shared_ptr<::grpc::Channel> Dial(const std::string& target) {
  ::grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return ::grpc::CreateCustomChannel(target, ::grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

Session::Session(const std::string& target)
    : channel_(Dial(target)), stub_(NodeControl::NewStub(channel_)), stream_(stub_->Attach(&context_)) {}

bool Session::Write(const FromNode& message) {
  const std::lock_guard lock(write_mutex_);
  return stream_->Write(message);
}

}  // namespace longshore::control
