// A test for rollouts in which users are assigned: whether more requests of the candidate's users fail, are refused or
// are late than of stable's. Pairs cannot show this, because their runs depend on neither the users nor the load.
//
// The unit is a bin of users (common/node_contract/bins.h), because the requests of one user depend on each other.
// Users fall into bins at random. So if the version makes no difference to any user, any other choice of as many bins
// could have been the candidate's, and a permutation test (common/statistics/permutation.h) is exact, whatever the
// differences between the users are, if all nodes are alike.
//
// The values of the bins are their bad requests above the expected number, minus theta times the same number from the
// time before the candidate had any weight. So users who fail all the time count less (CUPED: A. Deng, Y. Xu,
// R. Kohavi, T. Walker, "Improving the sensitivity of online controlled experiments by utilizing pre-experiment data",
// WSDM 2013). theta is the least-squares coefficient over the bins of both versions.
//
// The expected number is that of the nodes: each request is expected to be bad with the share of bad requests of both
// versions on its node, so that a bad node does not count against a candidate that runs on few nodes. With equal nodes
// this is the share over all requests.
//
// The first look at the test is due when the candidate's bins have had kFirstLook requests at the current weight, and
// another one whenever that number has doubled. So the time of a look depends on numbers of requests only. The k-th
// look of a rollout may use 6 / (pi^2 k^2) of kAlphaBins. These shares add up to 1.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/json/json.h"
#include "common/node_contract/bins.h"
#include "controller/api/types.h"

namespace longshore::analysis {

using node_contract::kBins;

inline constexpr double kAlphaBins = 0.001;
inline constexpr int64_t kFirstLook = 200;
// A look makes no claim if a version has fewer bins than this.
inline constexpr int kBinsMin = 2;
// A look makes no claim if few bins have most of the requests: if Kish's effective number of bins, (sum of n)^2 / (sum
// of n^2) for n requests in a bin, is below this.
inline constexpr double kBinsEffectiveMin = 30;

// Adds the counts of `more` to `total`, or replaces counts of another salt. Does nothing if `more` has no salt.
void Add(const api::BinEvidence& more, api::BinEvidence& total);

// How keys are assigned: the candidate owns the first `candidate_buckets` buckets, and stable the others.
struct KeyShares {
  std::string salt{};
  int candidate_buckets = 0;

  friend bool operator==(const KeyShares&, const KeyShares&) = default;
};

struct BinSums {
  int64_t bins = 0;
  int64_t requests = 0;
  int64_t bad = 0;
};

// What a look has shown.
struct BinLook {
  int number = 0;  // From 1 in the whole rollout; 0: no claim was possible.
  BinSums candidate;
  BinSums stable;
  double effective = 0;  // The effective number of bins of both versions.
  double explained = 0;  // The number of bad requests in the candidate's bins that the time before explains.
  double p = 1;
  double limit = 0;  // The test has failed if p is at or below this.

  bool failed() const { return number > 0 && p <= limit; }
};

// The counts since the candidate has had its current weight, and the last look. In a bin, only the requests of the
// version that owns all of its buckets count; bins that the versions share are not used.
class Bins {
 public:
  // Begins to count again if the shares have changed since the last call.
  void Follow(const KeyShares& shares);

  // Adds the counts of one node, and makes a look if one is due and none has failed yet. `before`: the counts of stable
  // before the candidate had any weight. Counts of another salt are ignored.
  struct OfNode {
    const api::BinEvidence& candidate;
    const api::BinEvidence& stable;
  };
  void Add(const std::string& node, const OfNode& counts, const api::BinEvidence& before);

  // The failed look, or else the last one; nullopt if there was none.
  const std::optional<BinLook>& look() const { return look_; }

  // null if nothing has been counted.
  Json ToJson() const;
  // Throws Json::exception if the JSON was not written by ToJson.
  static Bins FromJson(const Json& json);

 private:
  using Counts = std::vector<int64_t>;
  struct Range {
    size_t begin = 0;
    size_t end = 0;
  };
  // The requests on one node, in the bins that the version owns.
  struct Node {
    BinSums candidate;
    BinSums stable;
  };

  Range OfCandidate() const;
  Range OfStable() const;
  void Take(const api::BinEvidence& counts, Range range, BinSums& sums);
  BinSums SumOf(Range range) const;
  double ExpectedOfCandidate() const;
  std::vector<double> Excess(const BinLook& look) const;
  std::vector<double> ExcessBefore(const api::BinEvidence& before) const;
  void Look(const api::BinEvidence& before);
  void Test(const api::BinEvidence& before, BinLook& look);

  KeyShares shares_;
  Counts requests_ = Counts(kBins);
  Counts bad_ = Counts(kBins);
  std::map<std::string, Node> nodes_;
  int looks_ = 0;                 // With a claim, in the whole rollout.
  int64_t look_at_ = kFirstLook;  // The number of the candidate's requests at which the next look is due.
  std::optional<BinLook> look_;
};

// The result of a look for users, and its numbers for the verdict.
std::string ToText(const BinLook& look);
std::map<std::string, double> NumbersOf(const BinLook& look);

}  // namespace longshore::analysis
