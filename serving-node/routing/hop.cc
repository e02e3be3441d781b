#include "serving-node/routing/hop.h"

#include <charconv>

#include "serving-node/routing/priority.h"

namespace longshore::routing {
namespace {

std::string_view Header(const PredictCall& call, std::string_view name) {
  return HeaderValue(call, name).value_or(std::string_view());
}

}  // namespace

ForwardCall HopCall(const Request& request, const Choice& choice, const std::string& target) {
  ForwardCall call;
  call.target = target;
  call.serialized =
      request.call.serialized.empty() ? request.call.request.SerializeAsString() : request.call.serialized;
  call.deadline = request.call.deadline;
  call.metadata = {{kHopHeader, "1"},
                   {kHopVersionHeader, std::to_string(choice.version)},
                   {kHopFleetHeader, request.table->fleet()}};
  if (choice.pinned) call.metadata.emplace_back(kHopPinnedHeader, "1");
  if (request.priority != 0) call.metadata.emplace_back(kPriorityHeader, std::to_string(request.priority));
  call.cancelled = request.call.cancelled;
  return call;
}

Result<Hop> ParseHop(const PredictCall& call) {
  Hop hop{Header(call, kHopFleetHeader), 0, Header(call, kHopPinnedHeader) == "1"};
  const std::string_view text = Header(call, kHopVersionHeader);
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), hop.version);
  if (Header(call, kHopHeader) != "1" || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    return InvalidArgument("a request of a peer needs {} and a number as {}", kHopHeader, kHopVersionHeader);
  }
  return hop;
}

}  // namespace longshore::routing
