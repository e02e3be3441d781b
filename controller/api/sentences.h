// Sentences for the status of an object and for the command line. Messages of many nodes are joined to one text of
// limited length: without the limit, the message of a condition would grow with the fleet until the API server rejected
// the whole status.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "controller/api/types.h"

namespace longshore::api {

// One sentence about one node, Model or label, in two parts: {"node a: ", "no such file"}.
struct Sentence {
  std::string name;  // The node, Model or label.
  std::string text;  // Sentences that repeat a text are dropped first.
};

struct SentenceLimits {
  std::string noun = "node";  // Singular form, for example "node" or "Model".
  size_t bytes_max = 4096;    // Limit of the result. It must have room for one sentence and the ending.
  size_t sentence_bytes_max = 1024;
  size_t count_max = std::numeric_limits<size_t>::max();
};

// Joins the sentences by "; ", in their order, to valid UTF-8 of at most `bytes_max` bytes. A sentence that is too long
// is cut. If not all sentences fit, those with a new text are kept before those that repeat a text, and the result ends
// with "; and 7 more nodes". Returns "" for an empty list.
std::string JoinSentences(const std::vector<Sentence>& sentences, const SentenceLimits& limits = {});

// Whether the reason of a verdict or a failed version says that a person ended the rollout, or left the version by
// undo. Its files may be good.
bool IsByAPerson(const std::string& reason);

// The changes after which a failed version is tried again: "the manifest or, on one host, its files change". The files
// of a version that a person stopped do not count.
std::string ChangesToTryAgain(const FailedVersion& failed);

// Says that the fleet does not exist: "ServingFleet default/mian does not exist; did you mean main?". `known`: the
// fleets that exist. If the fleet is one of them, because it was created a moment ago, says that instead.
std::string NoFleetSentence(const Key& fleet, const std::vector<Key>& known);

}  // namespace longshore::api
