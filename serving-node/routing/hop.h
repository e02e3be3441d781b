// A prediction that one node hands to another of its fleet: its metadata, and what a peer's errors mean.
#pragma once

#include <string>
#include <string_view>

#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/request.h"

namespace longshore::routing {

// Which hop it is.
inline constexpr const char* kHopHeader = "x-longshore-hop";
// To a holder: whoever receives it runs exactly that version or says that it cannot, and never forwards it.
inline constexpr const char* kHopToHolder = "1";
// From a node that knows nothing of the model to a home of it, which treats it as a client's request, but asks no other
// home.
inline constexpr const char* kHopToHome = "home";

// Of a hop to a holder, beside the fleet:
// The version to run, a number; exactly this one.
inline constexpr const char* kHopVersionHeader = "x-longshore-version";
// "1": the client named the version or a label, so that a guard that tripped does not send it elsewhere, and it is no
// evidence. So it is with a request that runs on stable only to judge its candidate.
inline constexpr const char* kHopPinnedHeader = "x-longshore-pinned";

// Of a hop to a home, beside the fleet: the client's own headers, a peer::ClientHeaders, of which the assignment may
// need any (the token of a client stays with the node that checked it); and "1" when a connection died already while a
// peer had the request.
inline constexpr const char* kHopClientHeader = "x-longshore-client-bin";
inline constexpr const char* kHopDiedHeader = "x-longshore-died";

// Of both, "namespace/name" of the sender's fleet: an address that was given to another fleet since then refuses.
inline constexpr const char* kHopFleetHeader = "x-longshore-fleet";

// Between nodes, NOT_FOUND of a holder: it does not run it (it lacks the version, has no state yet, or is of another
// fleet). UNAVAILABLE: the connection died, and with it perhaps the peer. The two that follow have meanings of their
// own; no client sees them.
//
// The queue of who should run it is full, or no version may be served, and it lives: UNAVAILABLE to clients, as
// TensorFlow Serving says it.
inline constexpr Code kHopFull = Code::kAborted;
// A home knows no such model. NOT_FOUND of a home is about a version of a model that it knows.
inline constexpr Code kHopUnknown = Code::kAlreadyExists;

// What a home says of such a model, and a node inside when nobody knows it.
Error UnknownModel(std::string_view model);

// What a peer said, as its client should hear it. Requires: the error is not kHopUnknown.
Result<std::string> OfPeer(Result<std::string> reply);

// An answer to a peer: what is UNAVAILABLE here is not a connection that died.
template <typename Answer>
Result<Answer> ToPeer(Result<Answer> answer) {
  if (!answer && answer.error().code == Code::kUnavailable) answer.error().code = kHopFull;
  return answer;
}

// What travels with a request to a peer that is to run exactly this version.
ForwardCall HopCall(const Request& request, const Choice& choice, const std::string& target);

// What travels with a request to a home, beside what HomeSearch adds to each of its questions. Takes the request's
// bytes: it is forwarded to nobody else.
ForwardCall HomeCall(Request& request);

// What a peer sent.
struct Hop {
  bool to_home = false;
  std::string_view fleet;
  int64_t version = 0;     // To a holder.
  bool pinned = false;     // To a holder.
  bool died_once = false;  // To a home.
};
// InvalidArgument when the metadata is not that of a hop.
Result<Hop> ParseHop(const PredictCall& call);

// The headers of the client whose request came by a hop to a home. InvalidArgument when they cannot be read.
Result<Headers> ClientHeadersOf(const PredictCall& call);

// Whether a question that is no prediction is to be answered as a home, by its metadata. Unavailable to a node of
// another fleet.
Result<bool> IsToHome(const Headers& metadata, std::string_view fleet);

}  // namespace longshore::routing
