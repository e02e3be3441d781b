// Nodes that do not serve a version although they should, and how many of them a rollout tolerates. Internal to
// rollout/.
#pragma once

#include <optional>
#include <string>

#include "controller/decide/rollout/draft.h"
#include "controller/decide/rollout/failure.h"

namespace longshore::rollout {

// The failure that ends the rollout of the candidate. Answers that are wrong on one node, draining or not, are wrong
// because of the version. A failed load or a crash may be due to the node: it does not end the rollout while another
// node has the candidate ready and no more than rollout.maxUnavailable nodes failed. Draining nodes do not count then.
// If the candidate has weight, crashes on two nodes end the rollout in any case: each of them ended requests of users.
std::optional<Failure> FailureOfCandidate(const Draft& draft);

// Whether the candidate is ready on enough of the `wanted` nodes that should have it: on all, except for up to
// rollout.maxUnavailable nodes on which it failed, does not fit into the memory, or is not ready after the progress
// deadline. At least half of the `wanted` nodes, and at least one, must have it in any case (see also LostItsNodes).
bool IsReadyOn(const Draft& draft, int wanted);

// The nodes on which the candidate should be ready after its promotion and is not, with the reason; "" if there are
// none. A suffix for a sentence.
std::string NodesWithoutCandidate(const Draft& draft);

// Sets the condition NodesAvailable: whether nodes report a failure or a lack of memory for a version that should serve
// there. Nodes without stable do not count once it is ready on as many nodes as spec.replicas asks for.
void DescribeBadNodes(Draft& draft);

}  // namespace longshore::rollout
