// Simulates rollouts that the rules of all peers judge at the same time.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/peer_choice.h"
#include "tests/sim/peer_rules.h"
#include "tests/sim/peer_settings.h"
#include "tests/sim/trials.h"

namespace longshore::sim {

inline constexpr size_t kPeers = 3;
template <typename T>
using OfPeers = std::array<T, kPeers>;  // In the order of AllPeers().

class PeerSession {
 public:
  // Starts one process for each peer. `settings` are lists; a peer with an empty list judges nothing.
  static Result<PeerSession> Start(const std::string& program, const OfPeers<Json>& settings);

  // `record` simulates the rollout with a seed, and returns it as a line for PeerRules; it is called by many threads.
  // Returns what each setting of each peer did.
  using Record = std::function<std::string(size_t rollout, uint64_t seed)>;
  Result<OfPeers<std::vector<Outcomes>>> Run(const std::string& what, const Rollouts& rollouts, const Record& record);

 private:
  OfPeers<std::unique_ptr<PeerRules>> rules_;
};

}  // namespace longshore::sim
