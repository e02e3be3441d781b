// The metadata of a prediction that one node hands to another of its fleet.
#pragma once

namespace longshore::routing {

// "1": forwarded once already; whoever receives it runs it or answers, and never forwards again.
inline constexpr const char* kHopHeader = "x-longshore-hop";
// The version to run, a number; exactly this one.
inline constexpr const char* kHopVersionHeader = "x-longshore-version";
// "namespace/name" of the sender's fleet: an address that was given to another fleet since then refuses.
inline constexpr const char* kHopFleetHeader = "x-longshore-fleet";
// "1": the client named the version or a label, so that a guard that tripped does not send it elsewhere.
inline constexpr const char* kHopPinnedHeader = "x-longshore-pinned";

}  // namespace longshore::routing
