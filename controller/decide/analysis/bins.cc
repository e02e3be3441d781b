#include "controller/decide/analysis/bins.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "common/base/error.h"
#include "common/statistics/permutation.h"
#include "controller/decide/analysis/histogram.h"

namespace longshore::analysis {
namespace {

using node_contract::kBucketsPerBin;

int64_t At(const std::vector<int64_t>& counts, size_t bin) { return bin < counts.size() ? counts[bin] : 0; }

double Rate(double part, int64_t whole) { return whole == 0 ? 0 : part / static_cast<double>(whole); }

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Kish's effective number.
double Effective(const std::vector<int64_t>& requests) {
  const std::vector<double> n(requests.begin(), requests.end());
  const double sum = std::accumulate(n.begin(), n.end(), 0.0);
  return sum == 0 ? 0 : sum * sum / Dot(n, n);
}

std::vector<int64_t> WithoutZerosAtTheEnd(std::vector<int64_t> counts) {
  while (!counts.empty() && counts.back() == 0) counts.pop_back();
  return counts;
}

std::vector<int64_t> AllBinsFrom(const Json& json) {
  auto counts = json.get<std::vector<int64_t>>();
  counts.resize(kBins);
  return counts;
}

Json SumsToJson(const BinSums& sums) { return {{"bins", sums.bins}, {"requests", sums.requests}, {"bad", sums.bad}}; }

BinSums SumsFrom(const Json& json) {
  return {json.at("bins").get<int64_t>(), json.at("requests").get<int64_t>(), json.at("bad").get<int64_t>()};
}

Json LookToJson(const BinLook& look) {
  return {{"number", look.number},
          {"candidate", SumsToJson(look.candidate)},
          {"stable", SumsToJson(look.stable)},
          {"effective", look.effective},
          {"explained", look.explained},
          {"p", look.p},
          {"limit", look.limit}};
}

BinLook LookFrom(const Json& json) {
  const auto number = [&](const char* name) { return json.at(name).get<double>(); };
  return {json.at("number").get<int>(),
          SumsFrom(json.at("candidate")),
          SumsFrom(json.at("stable")),
          number("effective"),
          number("explained"),
          number("p"),
          number("limit")};
}

}  // namespace

void Add(const api::BinEvidence& more, api::BinEvidence& total) {
  if (more.salt.empty()) return;
  if (more.salt != total.salt) total = {.salt = more.salt};
  AddTo(more.requests, total.requests);
  AddTo(more.bad, total.bad);
}

void Bins::Follow(const KeyShares& shares) {
  if (shares == shares_) return;
  Bins next;
  if (shares.salt == shares_.salt) {
    next.looks_ = looks_;
    next.look_ = look_;
  }
  next.shares_ = shares;
  *this = std::move(next);
}

void Bins::Add(const std::string& node, const OfNode& counts, const api::BinEvidence& before) {
  const bool has_salt = counts.candidate.salt == shares_.salt || counts.stable.salt == shares_.salt;
  if (shares_.salt.empty() || !has_salt) return;
  Node& sums = nodes_[node];
  Take(counts.candidate, OfCandidate(), sums.candidate);
  Take(counts.stable, OfStable(), sums.stable);
  const bool has_failed = look_ && look_->failed();
  if (!has_failed && SumOf(OfCandidate()).requests >= look_at_) Look(before);
}

Bins::Range Bins::OfCandidate() const {
  return {0, static_cast<size_t>(std::clamp(shares_.candidate_buckets / kBucketsPerBin, 0, kBins))};
}

Bins::Range Bins::OfStable() const {
  const int begin = (shares_.candidate_buckets + kBucketsPerBin - 1) / kBucketsPerBin;
  return {static_cast<size_t>(std::clamp(begin, 0, kBins)), kBins};
}

void Bins::Take(const api::BinEvidence& counts, Range range, BinSums& sums) {
  if (counts.salt != shares_.salt) return;
  for (size_t bin = range.begin; bin < range.end; ++bin) {
    requests_[bin] += At(counts.requests, bin);
    bad_[bin] += At(counts.bad, bin);
    sums.requests += At(counts.requests, bin);
    sums.bad += At(counts.bad, bin);
  }
}

BinSums Bins::SumOf(Range range) const {
  BinSums sums;
  for (size_t bin = range.begin; bin < range.end; ++bin) {
    sums.bins += 1;
    sums.requests += requests_[bin];
    sums.bad += bad_[bin];
  }
  return sums;
}

void Bins::Look(const api::BinEvidence& before) {
  BinLook look{.candidate = SumOf(OfCandidate()), .stable = SumOf(OfStable()), .effective = Effective(requests_)};
  look_at_ = 2 * look.candidate.requests;
  const bool has_claim =
      std::min(look.candidate.bins, look.stable.bins) >= kBinsMin && look.effective >= kBinsEffectiveMin;
  if (has_claim) Test(before, look);
  look_ = look;
}

void Bins::Test(const api::BinEvidence& before, BinLook& look) {
  const std::vector<double> known = ExcessBefore(before);
  std::vector<double> values = Excess(look);
  const double squares = Dot(known, known);
  const double theta = squares > 0 ? Dot(values, known) / squares : 0;
  for (size_t i = 0; i < values.size(); ++i) values[i] -= theta * known[i];
  const auto candidate = static_cast<size_t>(look.candidate.bins);
  look.explained = theta * std::accumulate(known.begin(), known.begin() + look.candidate.bins, 0.0);
  look.number = ++looks_;
  look.limit = kAlphaBins * 6 / std::pow(std::numbers::pi * looks_, 2);
  look.p = statistics::PermutationP(std::move(values),
                                    {.chosen = candidate, .limit = look.limit, .seed = static_cast<uint64_t>(looks_)});
}

// The number of bad requests that the candidate would have if its requests were bad as often as those of both versions
// on the same node.
double Bins::ExpectedOfCandidate() const {
  double expected = 0;
  for (const auto& [_, node] : nodes_) {
    expected +=
        static_cast<double>(node.candidate.requests) *
        Rate(static_cast<double>(node.candidate.bad + node.stable.bad), node.candidate.requests + node.stable.requests);
  }
  return expected;
}

// The bad requests of each used bin above the expected number, those of the candidate's bins first.
std::vector<double> Bins::Excess(const BinLook& look) const {
  const double expected = ExpectedOfCandidate();
  const double rest = static_cast<double>(look.candidate.bad + look.stable.bad) - expected;
  std::vector<double> excess;
  const auto add = [&](Range range, double rate) {
    for (size_t bin = range.begin; bin < range.end; ++bin)
      excess.push_back(static_cast<double>(bad_[bin]) - rate * static_cast<double>(requests_[bin]));
  };
  add(OfCandidate(), Rate(expected, look.candidate.requests));
  add(OfStable(), Rate(rest, look.stable.requests));
  return excess;
}

// The same for the time before the candidate had any weight; zeros if nothing is known about it.
std::vector<double> Bins::ExcessBefore(const api::BinEvidence& before) const {
  std::vector<double> bad;
  std::vector<double> requests;
  const bool known = before.salt == shares_.salt;
  for (const Range range : {OfCandidate(), OfStable()}) {
    for (size_t bin = range.begin; bin < range.end; ++bin) {
      bad.push_back(known ? static_cast<double>(At(before.bad, bin)) : 0);
      requests.push_back(known ? static_cast<double>(At(before.requests, bin)) : 0);
    }
  }
  const double all = std::accumulate(requests.begin(), requests.end(), 0.0);
  const double rate = all > 0 ? std::accumulate(bad.begin(), bad.end(), 0.0) / all : 0;
  for (size_t i = 0; i < bad.size(); ++i) bad[i] -= rate * requests[i];
  return bad;
}

Json Bins::ToJson() const {
  if (nodes_.empty() && looks_ == 0) return nullptr;
  Json nodes = Json::object();
  for (const auto& [name, node] : nodes_)
    nodes[name] = {node.candidate.requests, node.candidate.bad, node.stable.requests, node.stable.bad};
  return {{"salt", shares_.salt},
          {"candidateBuckets", shares_.candidate_buckets},
          {"requests", WithoutZerosAtTheEnd(requests_)},
          {"bad", WithoutZerosAtTheEnd(bad_)},
          {"nodes", std::move(nodes)},
          {"looks", looks_},
          {"lookAt", look_at_},
          {"look", look_ ? LookToJson(*look_) : Json()}};
}

Bins Bins::FromJson(const Json& json) {
  Bins bins;
  bins.shares_ = {json.at("salt").get<std::string>(), json.at("candidateBuckets").get<int>()};
  bins.requests_ = AllBinsFrom(json.at("requests"));
  bins.bad_ = AllBinsFrom(json.at("bad"));
  for (const auto& [name, sums] : json.at("nodes").items()) {
    const auto of = sums.get<std::array<int64_t, 4>>();
    bins.nodes_[name] = {{.requests = of[0], .bad = of[1]}, {.requests = of[2], .bad = of[3]}};
  }
  bins.looks_ = json.at("looks").get<int>();
  bins.look_at_ = json.at("lookAt").get<int64_t>();
  if (!json.at("look").is_null()) bins.look_ = LookFrom(json.at("look"));
  return bins;
}

std::string ToText(const BinLook& look) {
  const auto share = [](const BinSums& sums) {
    const double percent = 100 * Rate(static_cast<double>(sums.bad), sums.requests);
    return fmt::format("{} of {} ({:.2f}%)", sums.bad, sums.requests, percent);
  };
  return fmt::format(
      "of the requests of the candidate's users, {} failed, were refused or were late; of those of stable's users, {}; "
      "from what these users had before the rollout, {:.1f} more than the average were to be expected of the "
      "candidate's; permutation test over {} bins of users, of which the candidate has {}: p-value {:.2g}, limit "
      "{:.2g}",
      share(look.candidate), share(look.stable), look.explained, look.candidate.bins + look.stable.bins,
      look.candidate.bins, look.p, look.limit);
}

std::map<std::string, double> NumbersOf(const BinLook& look) {
  std::map<std::string, double> numbers{{"binsLook", look.number},
                                        {"binsEffective", look.effective},
                                        {"binsOfCandidate", static_cast<double>(look.candidate.bins)},
                                        {"binsOfStable", static_cast<double>(look.stable.bins)},
                                        {"binsCandidateRequests", static_cast<double>(look.candidate.requests)},
                                        {"binsCandidateBad", static_cast<double>(look.candidate.bad)},
                                        {"binsStableRequests", static_cast<double>(look.stable.requests)},
                                        {"binsStableBad", static_cast<double>(look.stable.bad)}};
  if (look.number > 0) {
    numbers["binsExplained"] = look.explained;
    numbers["binsP"] = look.p;
    numbers["binsPLimit"] = look.limit;
  }
  return numbers;
}

}  // namespace longshore::analysis
