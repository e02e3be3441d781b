#include "common/net/grpc_server/messages.h"

#include <string>

#include "common/binary_proto/binary_proto.h"

namespace longshore::grpc_server {

Status Parse(const Pieces& bytes, google::protobuf::Message* message) {
  if (ParseBinaryProto(bytes, message)) return {};
  const std::string type = message->GetTypeName();
  return InvalidArgument("malformed {} ({} bytes)", type.substr(type.rfind('.') + 1), bytes.size());
}

Pieces ToPieces(const google::protobuf::MessageLite& message) {
  std::string bytes;
  message.SerializeToString(&bytes);
  return Pieces(std::move(bytes));
}

void Finish(Call& call, const google::protobuf::MessageLite& answer) {
  try {
    if (answer.ByteSizeLong() > kAnswerBytesMax) {
      return call.Finish(ResourceExhausted("the answer has more than {} bytes", kAnswerBytesMax));
    }
    call.Finish({}, ToPieces(answer));
  } catch (const std::bad_alloc&) {
    call.Finish(ResourceExhausted("memory does not suffice for this answer"));
  }
}

}  // namespace longshore::grpc_server
