// A hop: a request that one node of a fleet forwards to another one. Defines its gRPC metadata and the meaning of the
// errors between nodes.
#pragma once

#include <string>
#include <string_view>

#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/request.h"

namespace longshore::routing {

// The name of the metadata entry with the kind of the hop: kHopToHolder or kHopToHome.
inline constexpr const char* kHopHeader = "x-longshore-hop";
// A hop to a holder: the receiver runs exactly the given version or returns an error. It never forwards the request.
inline constexpr const char* kHopToHolder = "1";
// A hop to a home node, from a node that does not know the model. The home treats the request as if the client had sent
// it, except that it asks no other home.
inline constexpr const char* kHopToHome = "home";

// Metadata of a hop to a holder, in addition to kHopFleetHeader:

// The number of the version to run.
inline constexpr const char* kHopVersionHeader = "x-longshore-version";
// The value "1" means that the client named the version or a label. A tripped guard then does not redirect the request,
// and the request does not count as evidence. A request that runs on stable only to judge the candidate has this value,
// too.
inline constexpr const char* kHopPinnedHeader = "x-longshore-pinned";
// The value "1" means that a match rule chose the version. The request is then no evidence for tests on requests.
inline constexpr const char* kHopMatchedHeader = "x-longshore-matched";
// The bin of the request's key and the salt that decided it, "17 uid/2/1", if the sender counts bins. The receiver
// counts the request in this bin if it counts the bins of the same salt.
inline constexpr const char* kHopBinHeader = "x-longshore-bin";

// Metadata of a hop to a home, in addition to kHopFleetHeader:

// The client's headers as a serialized peer::ClientHeaders, because the assignment to a version may need any of them.
// The client's bearer token is left out, because the node that received the request has already checked it. Its
// verified identity (PredictCall::caller) is sent instead, because match rules may need it. Large headers are sent in
// parts, as several values, which the receiver joins.
inline constexpr const char* kHopClientHeader = "x-longshore-client-bin";
// The value "1" means that the connection to another peer already broke while that peer had the request.
inline constexpr const char* kHopDiedHeader = "x-longshore-died";

// Metadata of both kinds of hops: "namespace/name" of the sender's fleet. A receiver of another fleet, which may have
// taken over the address, refuses the request.
inline constexpr const char* kHopFleetHeader = "x-longshore-fleet";

// Error codes between nodes. NOT_FOUND from a holder means that it does not run the request, because it lacks the
// version, has no state yet, belongs to another fleet, or its guard for the version tripped. UNAVAILABLE means that the
// connection broke, perhaps because the peer crashed. The two codes below have a special meaning between nodes; clients
// never see them.

// The receiver is alive, but its queue is full or no version may be served. Clients get UNAVAILABLE, as from TensorFlow
// Serving.
inline constexpr Code kHopFull = Code::kAborted;
// A home node does not know the model. (NOT_FOUND from a home concerns a version of a model that it knows.)
inline constexpr Code kHopUnknown = Code::kAlreadyExists;

// The error of a home node that does not know the model. A search in which no home knows the model has the same error.
Error UnknownModel(std::string_view model);

// Converts the reply of a peer to the reply for the client: kHopFull becomes UNAVAILABLE. Requires: the error is not
// kHopUnknown.
Result<Pieces> FromPeer(Result<Pieces> reply);

// Converts the answer of this node to the reply for a peer: UNAVAILABLE becomes kHopFull, because between nodes
// UNAVAILABLE means a broken connection.
template <typename Answer>
Result<Answer> ToPeer(Result<Answer> answer) {
  if (!answer && answer.error().code == Code::kUnavailable) answer.error().code = kHopFull;
  return answer;
}

// The call that forwards the request to a peer that should run exactly this version.
ForwardCall HopCall(const Request& request, const Choice& choice, const std::string& target);

// The call that forwards the request to a home node, without the metadata that HomeSearch adds.
ForwardCall HomeCall(const Request& request);

// The metadata of a received hop.
struct Hop {
  bool to_home = false;
  std::string_view fleet;
  int64_t version = 0;   // Only for a hop to a holder.
  bool pinned = false;   // Only for a hop to a holder.
  bool matched = false;  // Only for a hop to a holder.
  int bin = -1;          // Only for a hop to a holder; -1 if there is none.
  std::string_view salt{};
  bool died_once = false;  // Only for a hop to a home.
};
// Returns InvalidArgument if the metadata is not that of a hop. The result refers to `call`, which must outlive it.
Result<Hop> ParseHop(const PredictCall& call);

// The client of a request in a hop to a home, as the node that received the request saw it.
struct ForwardedClient {
  Headers headers;
  auth::Caller caller;
};
// Returns InvalidArgument if the metadata cannot be parsed.
Result<ForwardedClient> ClientOf(const PredictCall& call);

// For requests other than predictions: returns true if the metadata asks this node to answer as a home node.
// Unavailable if the sender belongs to another fleet.
Result<bool> IsToHome(const Headers& metadata, std::string_view fleet);

}  // namespace longshore::routing
