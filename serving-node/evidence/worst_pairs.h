// The few pairs of a rollout whose answers differ most, for people who decide about it.
#pragma once

#include <string>
#include <vector>

#include "longshore/control.pb.h"

namespace longshore::evidence {

// Keeps at most node_contract::kWorstPairsMax pairs of one rollout, and limits their texts. Not thread-safe.
class WorstPairs {
 public:
  // Keeps the pair if it is one of the worst ones (node_contract::IsWorse). `salt` is that of the rollout: with
  // another one, the pairs before are forgotten.
  void Add(const std::string& salt, control::WorstPair pair);
  // Whether Add would keep the pair. Its names and rows make no difference.
  bool Wants(const std::string& salt, const control::WorstPair& pair) const;
  // Sets worst, the worst first, and worst_salt.
  void CopyTo(control::PairEvidence* evidence) const;

 private:
  std::string salt_;
  std::vector<control::WorstPair> pairs_;  // The worst first.
};

}  // namespace longshore::evidence
