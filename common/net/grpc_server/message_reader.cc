#include "common/net/grpc_server/message_reader.h"

#include <utility>

#include "common/net/http/inflate.h"

namespace longshore::grpc_server {
namespace {

// The text is gRPC's.
tl::unexpected<Error> TooLarge(size_t bytes, size_t bytes_max) {
  return ResourceExhausted("Received message larger than max ({} vs. {})", bytes, bytes_max);
}

}  // namespace

Status MessageReader::TakePrefix(std::string_view& bytes, size_t bytes_max) {
  while (prefix_size_ < kPrefixBytes && !bytes.empty()) {
    prefix_[prefix_size_++] = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
  }
  if (prefix_size_ < kPrefixBytes) return {};
  if (prefix_[0] > 1) return Internal("a message has unknown flags: {}", prefix_[0]);
  missing_ = size_t{prefix_[1]} << 24 | size_t{prefix_[2]} << 16 | size_t{prefix_[3]} << 8 | prefix_[4];
  if (missing_ > bytes_max) {
    return TooLarge(missing_, bytes_max);
  }
  if (bytes.size() < PiecesBuilder::kReferredBytesMin) message_.copied().reserve(std::min(missing_, kReservedBytesMax));
  return {};
}

Result<std::optional<ReceivedMessage>> MessageReader::Take(std::string_view& bytes,
                                                           const std::shared_ptr<const void>& owner, size_t bytes_max) {
  if (prefix_size_ < kPrefixBytes) RETURN_IF_ERROR(TakePrefix(bytes, bytes_max));
  if (prefix_size_ < kPrefixBytes) return std::nullopt;
  const std::string_view taken = bytes.substr(0, missing_);
  if (owner != nullptr && taken.size() >= PiecesBuilder::kReferredBytesMin) {
    message_.Refer(taken, owner);
  } else {
    message_.copied().append(taken);
  }
  bytes.remove_prefix(taken.size());
  missing_ -= taken.size();
  if (missing_ > 0) return std::nullopt;
  prefix_size_ = 0;
  return ReceivedMessage{.is_compressed = prefix_[0] == 1, .bytes = message_.Build()};
}

Result<Pieces> Decompress(const Pieces& message, size_t bytes_max, const std::shared_ptr<http::BytePool>& pool) {
  struct Inflated {
    std::string bytes;
    http::HeldBytes held;
  };
  const auto inflated = std::make_shared<Inflated>(Inflated{.bytes = {}, .held = http::HeldBytes(pool)});
  auto plain = http::Inflate(message.ToString(), bytes_max, &inflated->held);
  if (!plain && plain.error().code == Code::kUnavailable) return ResourceExhausted("{}", plain.error().message);
  if (!plain && plain.error().code == Code::kResourceExhausted) return TooLarge(bytes_max + 1, bytes_max);
  if (!plain) return Internal("a compressed message is damaged, or ends early");
  inflated->bytes = std::move(*plain);
  Pieces pieces;
  pieces.Add(inflated->bytes, inflated);
  return pieces;
}

}  // namespace longshore::grpc_server
