#include "serving-node/routing/hop.h"

#include <charconv>
#include <utility>

#include "common/binary_proto/binary_proto.h"
#include "longshore/peer.pb.h"
#include "serving-node/routing/priority.h"

namespace longshore::routing {
namespace {

constexpr std::string_view kAuthorization = "authorization";

// The server of the peer ends a connection on which a header value has more than 64 KiB, as it was sent.
constexpr size_t kClientPartBytesMax = size_t{24} << 10;

std::string_view Header(const PredictCall& call, std::string_view name) {
  return HeaderValue(call.headers, name).value_or(std::string_view());
}

// The part of a call that both kinds of hops share.
ForwardCall CallOf(const Request& request) {
  ForwardCall call;
  call.serialized = request.call.request.ToPieces();
  call.deadline = request.call.deadline;
  if (request.priority != 0) call.metadata.emplace_back(kPriorityHeader, std::to_string(request.priority));
  call.cancelled = request.call.cancelled;
  call.trace = request.call.trace;
  return call;
}

// Sets the bin and the salt from the header's text; a text that is not a valid bin sets nothing, because the request
// can run without it.
void ParseBin(std::string_view text, Hop& hop) {
  int bin = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), bin);
  const std::string_view rest = text.substr(static_cast<size_t>(parsed.ptr - text.data()));
  if (parsed.ec != std::errc() || !rest.starts_with(' ') || bin < 0 || bin >= node_contract::kBins) return;
  hop.bin = bin;
  hop.salt = rest.substr(1);
}

}  // namespace

Error UnknownModel(std::string_view model) {
  return {kHopUnknown, fmt::format("this node does not know the model \"{}\"", model)};
}

Result<Pieces> FromPeer(Result<Pieces> reply) {
  if (!reply && reply.error().code == kHopFull) reply.error().code = Code::kUnavailable;
  return reply;
}

ForwardCall HopCall(const Request& request, const Choice& choice, const std::string& target) {
  ForwardCall call = CallOf(request);
  call.target = target;
  call.metadata.emplace_back(kHopHeader, kHopToHolder);
  call.metadata.emplace_back(kHopVersionHeader, std::to_string(choice.version));
  call.metadata.emplace_back(kHopFleetHeader, request.table->fleet());
  if (choice.pinned) call.metadata.emplace_back(kHopPinnedHeader, "1");
  if (choice.matched) call.metadata.emplace_back(kHopMatchedHeader, "1");
  if (choice.bin >= 0 && choice.entry->bins)
    call.metadata.emplace_back(kHopBinHeader, fmt::format("{} {}", choice.bin, choice.entry->bins->salt()));
  return call;
}

ForwardCall HomeCall(const Request& request) {
  ForwardCall call = CallOf(request);
  peer::ClientHeaders client;
  for (const auto& [name, value] : request.call.headers) {
    if (name == kAuthorization) continue;
    auto& header = *client.add_headers();
    header.set_name(name);
    header.set_value(value);
  }
  const auth::Caller& caller = request.call.caller;
  client.set_client(caller.client);
  if (caller.claims) client.set_claims(DumpJson(*caller.claims));
  const std::string bytes = client.SerializeAsString();
  std::string_view rest = bytes;
  for (; rest.size() > kClientPartBytesMax; rest.remove_prefix(kClientPartBytesMax)) {
    call.metadata.emplace_back(kHopClientHeader, rest.substr(0, kClientPartBytesMax));
  }
  call.metadata.emplace_back(kHopClientHeader, rest);
  return call;
}

Result<Hop> ParseHop(const PredictCall& call) {
  Hop hop{.fleet = Header(call, kHopFleetHeader)};
  const std::string_view which = Header(call, kHopHeader);
  hop.to_home = which == kHopToHome;
  if (hop.to_home) {
    hop.died_once = Header(call, kHopDiedHeader) == "1";
    return hop;
  }
  hop.pinned = Header(call, kHopPinnedHeader) == "1";
  hop.matched = Header(call, kHopMatchedHeader) == "1";
  ParseBin(Header(call, kHopBinHeader), hop);
  const std::string_view text = Header(call, kHopVersionHeader);
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), hop.version);
  if (which != kHopToHolder || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    return InvalidArgument("a peer's request needs a valid value in the header {} and a number in the header {}",
                           kHopHeader, kHopVersionHeader);
  }
  return hop;
}

Result<ForwardedClient> ClientOf(const PredictCall& call) {
  std::string bytes;
  for (const auto& [name, value] : call.headers) {
    if (name == kHopClientHeader) bytes += value;
  }
  const Error invalid = {Code::kInvalidArgument,
                         fmt::format("the header {} of a peer's request cannot be parsed", kHopClientHeader)};
  peer::ClientHeaders sent;
  if (!ParseBinaryProto(bytes, &sent)) return tl::make_unexpected(invalid);
  ForwardedClient client;
  for (auto& header : *sent.mutable_headers()) {
    client.headers.emplace_back(std::move(*header.mutable_name()), std::move(*header.mutable_value()));
  }
  client.caller.client = sent.client();
  if (sent.claims().empty()) return client;
  auto claims = ParseJson(sent.claims());
  if (!claims || !claims->is_object()) return tl::make_unexpected(invalid);
  client.caller.claims = std::make_shared<const Json>(std::move(*claims));
  return client;
}

Result<bool> IsToHome(const Headers& metadata, std::string_view fleet) {
  if (HeaderValue(metadata, kHopHeader) != kHopToHome) return false;
  const auto asked = HeaderValue(metadata, kHopFleetHeader);
  if (asked == fleet) return true;
  return Unavailable("this node belongs to the fleet {}, not to {}", fleet, asked.value_or(std::string_view()));
}

}  // namespace longshore::routing
