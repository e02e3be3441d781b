#include "serving-node/evidence/worst_pairs.h"

#include <algorithm>
#include <utility>

#include "common/node_contract/worst_pairs.h"

namespace longshore::evidence {

bool WorstPairs::Wants(const std::string& salt, const control::WorstPair& pair) const {
  return salt != salt_ || pairs_.size() < node_contract::kWorstPairsMax || node_contract::IsWorse(pair, pairs_.back());
}

void WorstPairs::Add(const std::string& salt, control::WorstPair pair) {
  if (!Wants(salt, pair)) return;
  if (salt != salt_) pairs_.clear();
  salt_ = salt;
  node_contract::LimitTexts(pair);
  pairs_.insert(std::ranges::upper_bound(pairs_, pair, node_contract::IsWorse), std::move(pair));
  if (pairs_.size() > node_contract::kWorstPairsMax) pairs_.pop_back();
}

void WorstPairs::CopyTo(control::PairEvidence* evidence) const {
  evidence->mutable_worst()->Assign(pairs_.begin(), pairs_.end());
  evidence->set_worst_salt(salt_);
}

}  // namespace longshore::evidence
