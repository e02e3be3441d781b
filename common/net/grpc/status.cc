#include "common/net/grpc/status.h"

namespace longshore::rpc {

Error FromGrpc(const ::grpc::Status& status) {
  CHECK(!status.ok());
  const int code = status.error_code();
  const bool known = code > 0 && code <= static_cast<int>(Code::kUnauthenticated);
  return {known ? static_cast<Code>(code) : Code::kUnknown, status.error_message()};
}

}  // namespace longshore::rpc
