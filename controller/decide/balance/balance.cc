#include "controller/decide/balance/balance.h"

#include <algorithm>
#include <set>

namespace longshore::balance {
namespace {

// A node with less than this part of the mean has too little work.
constexpr double kTooLittle = 0.5;
// A node with more than this multiple of the mean has too much, also if no node has too little.
constexpr double kTooMuch = 1.5;
// Limit of connections that a node moves in one round: a handshake of TLS takes about 1 ms of a processor.
constexpr int64_t kMovesMax = 100;

int64_t RequestsOf(const std::vector<NodeLoad>& nodes) {
  int64_t requests = 0;
  for (const NodeLoad& node : nodes) requests += node.requests;
  return requests;
}

}  // namespace

std::vector<Move> DecideMoves(const std::vector<NodeLoad>& nodes) {
  if (nodes.size() < 2) return {};
  const double mean = static_cast<double>(RequestsOf(nodes)) / static_cast<double>(nodes.size());
  const bool some_lack_work = std::ranges::any_of(
      nodes, [&](const NodeLoad& node) { return static_cast<double>(node.requests) < kTooLittle * mean; });
  const double enough = some_lack_work ? mean : kTooMuch * mean;
  std::vector<Move> moves;
  for (const NodeLoad& node : nodes) {
    const auto requests = static_cast<double>(node.requests);
    if (requests <= enough || !node.can_move || node.connections < 2) continue;
    moves.push_back(
        {node.node, 1 - mean / requests, static_cast<int>(std::min<int64_t>(node.connections / 2, kMovesMax))});
  }
  return moves;
}

std::vector<Move> Balancer::Next(const std::vector<NodeReport>& nodes, MonotonicPoint now) {
  const Admitted admitted = Admit(nodes);
  if (admitted.has_grown) {
    growth_ = Growth{.ends_at = now + kWindow,
                     .settles_at = growth_ ? growth_->settles_at : now,
                     .round_from = growth_ ? growth_->round_from : now,
                     .rounds_left = kRoundsMax};
  }
  if (growth_ && (now > growth_->ends_at || growth_->rounds_left == 0)) growth_.reset();
  SaveRounds(now);
  if (!growth_) return {};
  // A node that joins in the middle of a round would be measured for less time than the others.
  if (now <= growth_->settles_at || admitted.has_joined) BeginRound(nodes, now);
  if (now - growth_->round_from < kMeasureMin || saved_rounds_ == 0) return {};
  const std::vector<NodeLoad> loads = Measure(nodes);
  if (RequestsOf(loads) < kRequestsMin * static_cast<int64_t>(loads.size())) return {};
  std::vector<Move> moves = DecideMoves(loads);
  if (moves.empty()) {
    growth_.reset();
    return {};
  }
  --growth_->rounds_left;
  --saved_rounds_;
  growth_->settles_at = now + kSettle;
  BeginRound(nodes, now);
  return moves;
}

Balancer::Admitted Balancer::Admit(const std::vector<NodeReport>& nodes) {
  Admitted admitted;
  std::set<std::string> present;
  for (const NodeReport& node : nodes) {
    present.insert(node.node);
    const auto known = members_.find(node.node);
    if (!node.serves) {
      if (known != members_.end()) known->second.serves = false;
      continue;
    }
    const bool is_new = known == members_.end();
    Member& member = is_new ? members_[node.node] : known->second;
    const bool is_other = member.incarnation != node.incarnation;
    admitted.has_grown = admitted.has_grown || is_new || (is_other && !member.incarnation.empty());
    admitted.has_joined = admitted.has_joined || is_other || !member.serves;
    member.incarnation = node.incarnation;
    member.serves = true;
  }
  std::erase_if(members_, [&](const auto& member) { return !present.contains(member.first); });
  return admitted;
}

void Balancer::SaveRounds(MonotonicPoint now) {
  while (saved_rounds_ < kSavedRoundsMax && now - saved_at_ >= kRoundAgain) {
    ++saved_rounds_;
    saved_at_ += kRoundAgain;
  }
  if (saved_rounds_ == kSavedRoundsMax) saved_at_ = now;
}

void Balancer::BeginRound(const std::vector<NodeReport>& nodes, MonotonicPoint now) {
  growth_->round_from = now;
  for (const NodeReport& node : nodes) {
    if (node.serves) members_.at(node.node).received = node.received;
  }
}

std::vector<NodeLoad> Balancer::Measure(const std::vector<NodeReport>& nodes) const {
  std::vector<NodeLoad> loads;
  for (const NodeReport& node : nodes) {
    if (!node.serves) continue;
    loads.push_back({.node = node.node,
                     .requests = node.received - members_.at(node.node).received,
                     .connections = node.connections,
                     .can_move = node.can_move});
  }
  return loads;
}

}  // namespace longshore::balance
