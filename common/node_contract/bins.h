// Bins of assignment buckets, by which nodes count the requests of a model that is assigned by a key (BinEvidence of
// control.proto). The keys fall into the bins at random.
#pragma once

namespace longshore::node_contract {

inline constexpr int kBins = 200;
inline constexpr int kBucketsPerBin = 50;  // docs/assignment.md defines the 10000 buckets.

}  // namespace longshore::node_contract
