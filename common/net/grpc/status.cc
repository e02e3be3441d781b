#include "common/net/grpc/status.h"

namespace longshore::rpc {

::grpc::Status ToGrpc(const Error& error) {
  std::string message = error.message;
  if (message.size() > kMessageBytesMax) message = message.substr(0, kMessageBytesMax) + "...TRUNCATED";
  return {static_cast<::grpc::StatusCode>(error.code), message};
}

::grpc::Status ToGrpc(const Status& status) { return status ? ::grpc::Status::OK : ToGrpc(status.error()); }

Error FromGrpc(const ::grpc::Status& status) {
  CHECK(!status.ok());
  const int code = status.error_code();
  const bool known = code > 0 && code <= static_cast<int>(Code::kUnauthenticated);
  return {known ? static_cast<Code>(code) : Code::kUnknown, status.error_message()};
}

}  // namespace longshore::rpc
