#include "common/net/grpc_server/messages.h"

#include <string>

namespace longshore::grpc_server {
namespace {

bool IsRead(const Pieces& bytes, google::protobuf::MessageLite* message) {
  if (bytes.all().size() > 1) return message->ParseFromString(bytes.ToString());
  const std::string_view all = bytes.empty() ? std::string_view() : bytes.all().front().bytes;
  return all.size() <= kAnswerBytesMax && message->ParseFromArray(all.data(), static_cast<int>(all.size()));
}

}  // namespace

Status Parse(const Pieces& bytes, google::protobuf::MessageLite* message) {
  if (IsRead(bytes, message)) return {};
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
