// The settings of Argo Rollouts, Flagger and Kayenta that are tried. tests/sim/peers/README.md lists them and says
// where they come from.
#pragma once

#include <vector>

#include "common/json/json.h"

namespace longshore::sim {

enum class Peer { kArgo, kFlagger, kKayenta };
std::vector<Peer> AllPeers();
const char* NameOf(Peer peer);

// What a rule of a peer measures.
enum class Measures { kErrors, kRunTimes };

// A list of settings for rollouts that take so many seconds. Each setting compares one measure with one limit. Limits
// are multiples of stable's measure, either at the same time or in the past (sim::Past), so a setting has the same
// meaning in every world. All windows, intervals and steps are multiples of kPointSeconds.
inline constexpr int kPointSeconds = 10;
Json SweepOf(Peer peer, Measures measures, int seconds);

// The setting in the peer's documentation, for rollouts of kDocumentedSeconds, which is the lifetime that Kayenta
// recommends.
inline constexpr int kDocumentedSeconds = 3 * 3600;
Json DocumentedSetting(Peer peer);

}  // namespace longshore::sim
