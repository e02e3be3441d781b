// Which pairs of runs a node reports, and in which order: those whose answers differ most. The controller merges the
// pairs of all nodes by the same order.
#pragma once

#include <cstddef>

#include "longshore/control.pb.h"

namespace longshore::node_contract {

inline constexpr size_t kWorstPairsMax = 5;
inline constexpr size_t kWorstPairTextBytesMax = 128;

// Returns true if `a` comes before `b`: first the pairs that only the candidate failed, then those that both versions
// answered, by their differences, then those that only stable failed. If two pairs are equal in this, the earlier one
// comes first.
bool IsWorse(const control::WorstPair& a, const control::WorstPair& b);

// Cuts the texts of the pair that are longer than kWorstPairTextBytesMax.
void LimitTexts(control::WorstPair& pair);

}  // namespace longshore::node_contract
