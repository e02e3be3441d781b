// A prediction that one node hands to another of its fleet: its metadata, and what a peer's errors mean.
#pragma once

#include <string>
#include <string_view>

#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/request.h"

namespace longshore::routing {

// "1": forwarded once already; whoever receives it runs it or answers, and never forwards again.
inline constexpr const char* kHopHeader = "x-longshore-hop";
// The version to run, a number; exactly this one.
inline constexpr const char* kHopVersionHeader = "x-longshore-version";
// "namespace/name" of the sender's fleet: an address that was given to another fleet since then refuses.
inline constexpr const char* kHopFleetHeader = "x-longshore-fleet";
// "1": the client named the version or a label, so that a guard that tripped does not send it elsewhere, and it is no
// evidence. So it is with a request that runs on stable only to judge its candidate.
inline constexpr const char* kHopPinnedHeader = "x-longshore-pinned";

// Between nodes, NOT_FOUND: the peer does not run it (it lacks the version, has no state yet, or is of another fleet).
// UNAVAILABLE: the connection died, and with it perhaps the peer. This one: its queue is full, and it lives; clients
// see it as UNAVAILABLE, as TensorFlow Serving says it.
inline constexpr Code kHopFull = Code::kAborted;

// What travels with a request to a peer that is to run exactly this version.
ForwardCall HopCall(const Request& request, const Choice& choice, const std::string& target);

// What a peer sent.
struct Hop {
  std::string_view fleet;
  int64_t version = 0;
  bool pinned = false;
};
// InvalidArgument when the metadata is not that of a hop.
Result<Hop> ParseHop(const PredictCall& call);

}  // namespace longshore::routing
