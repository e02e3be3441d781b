#include "tests/sim/peer_session.h"

#include <algorithm>
#include <future>

#include "tests/sim/progress.h"

namespace longshore::sim {
namespace {

constexpr size_t kLinesMax = 64;  // That are in memory at the same time; a line can have 200 kB.

// Adds what each setting did with each of the rollouts.
Status JudgeLines(const std::vector<std::string>& lines, PeerRules& rules, std::vector<Outcomes>& outcomes) {
  for (const std::string& line : lines) {
    ASSIGN_OR_RETURN(const std::vector<PeerDecision> decisions, rules.Judge(line));
    outcomes.resize(decisions.size());
    for (size_t i = 0; i < decisions.size(); ++i) {
      outcomes[i].requests.push_back(decisions[i].rolled_back ? decisions[i].candidate_requests : kNever);
    }
  }
  return {};
}

}  // namespace

Result<PeerSession> PeerSession::Start(const std::string& program, const OfPeers<Json>& settings) {
  PeerSession session;
  for (size_t peer = 0; peer < kPeers; ++peer) {
    if (settings[peer].empty()) continue;
    ASSIGN_OR_RETURN(session.rules_[peer], PeerRules::Start(program, settings[peer]));
  }
  return session;
}

Result<OfPeers<std::vector<Outcomes>>> PeerSession::Run(const std::string& what, const Rollouts& rollouts,
                                                        const Record& record) {
  OfPeers<std::vector<Outcomes>> outcomes;
  Progress progress(what, rollouts.count);
  for (size_t begin = 0; begin < static_cast<size_t>(rollouts.count); begin += kLinesMax) {
    std::vector<std::string> lines(std::min(kLinesMax, static_cast<size_t>(rollouts.count) - begin));
    ForEachRollout({static_cast<int>(lines.size()), rollouts.seed, rollouts.threads, begin},
                   [&](size_t i, uint64_t seed) {
                     lines[i] = record(begin + i, seed);
                     progress.Add();
                   });
    std::vector<std::future<Status>> judging;
    for (size_t peer = 0; peer < kPeers; ++peer) {
      if (rules_[peer] == nullptr) continue;
      judging.push_back(
          std::async(std::launch::async, [&, peer] { return JudgeLines(lines, *rules_[peer], outcomes[peer]); }));
    }
    for (std::future<Status>& judged : judging) RETURN_IF_ERROR(judged.get());
  }
  return outcomes;
}

}  // namespace longshore::sim
