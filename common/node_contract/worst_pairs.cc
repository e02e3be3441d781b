#include "common/node_contract/worst_pairs.h"

#include <string>
#include <tuple>

#include "common/base/text.h"

namespace longshore::node_contract {
namespace {

// A smaller rank comes first.
int RankOf(const control::WorstPair& pair) {
  if (!pair.candidate_error().empty()) return 0;
  return pair.stable_error().empty() ? 1 : 2;
}

}  // namespace

bool IsWorse(const control::WorstPair& a, const control::WorstPair& b) {
  const auto order = [](const control::WorstPair& pair) {
    return std::tuple(RankOf(pair), -pair.relative_difference(), -pair.absolute_difference(), pair.at_unix_ms());
  };
  return order(a) < order(b);
}

void LimitTexts(control::WorstPair& pair) {
  for (std::string* text :
       {pair.mutable_trace_id(), pair.mutable_signature(), pair.mutable_output(), pair.mutable_candidate_type(),
        pair.mutable_stable_type(), pair.mutable_candidate_error(), pair.mutable_stable_error()}) {
    *text = CutText(*text, kWorstPairTextBytesMax);
  }
}

}  // namespace longshore::node_contract
