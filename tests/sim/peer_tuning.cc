#include "tests/sim/peer_tuning.h"

#include <algorithm>
#include <set>

#include "controller/decide/analysis/analysis.h"

namespace longshore::sim {
namespace {

// The share of false alarms of each setting of each peer, for each world.
using Alarms = std::vector<OfPeers<std::vector<double>>>;
// The outcomes of each setting of each peer, for each fault.
using Faulty = std::vector<OfPeers<std::vector<Outcomes>>>;

// The second count starts from other seeds than the first, so that it is not biased by the choice after the first.
Rollouts With(const Rollouts& rollouts, int count, uint64_t part) {
  return {count, rollouts.seed * 2 + part, rollouts.threads};
}

Result<Alarms> CountAlarms(const Group& group, const Rollouts& rollouts, PeerSession& session) {
  Alarms alarms;
  for (const EqualWorld& equal : group.equal) {
    ASSIGN_OR_RETURN(const auto outcomes, session.Run("choice of settings: equal versions, " + equal.name, rollouts,
                                                      [&](size_t rollout, uint64_t seed) {
                                                        return RecordEqualLine(equal, group.measures, rollout, seed);
                                                      }));
    auto& of_peers = alarms.emplace_back();
    for (size_t peer = 0; peer < kPeers; ++peer) {
      for (const Outcomes& one : outcomes[peer]) of_peers[peer].push_back(one.RolledBack().value());
    }
  }
  return alarms;
}

Result<Faulty> FindFaults(const Group& group, const Rollouts& rollouts, PeerSession& session) {
  Faulty faulty;
  for (const Group::Member& member : group.members) {
    const Fault& fault = member.fault;
    ASSIGN_OR_RETURN(faulty.emplace_back(),
                     session.Run("choice of settings: " + fault.name, rollouts, [&](size_t rollout, uint64_t seed) {
                       return RecordLine(fault.world, group.measures, rollout, seed);
                     }));
  }
  return faulty;
}

// One choice among the settings of a peer.
struct Question {
  const Group& group;
  size_t member = 0;
  Family family = Family::kOwn;
  size_t peer = 0;

  std::vector<size_t> Worlds() const { return WorldsOf(group, group.members[member], family); }
};

std::vector<Question> QuestionsOf(const Group& group) {
  std::vector<Question> questions;
  for (size_t member = 0; member < group.members.size(); ++member) {
    for (const Family family : AllFamilies()) {
      for (size_t peer = 0; peer < kPeers; ++peer) questions.push_back({group, member, family, peer});
    }
  }
  return questions;
}

// `settings`: which of the settings in `faulty` those in `alarms` are.
std::vector<Tried> TriedOf(const Question& question, const std::vector<size_t>& settings, const Alarms& alarms,
                           const Faulty& faulty) {
  std::vector<Tried> tried;
  for (size_t i = 0; i < settings.size(); ++i) {
    double most = 0;
    for (const size_t world : question.Worlds()) most = std::max(most, alarms[world][question.peer][i]);
    tried.push_back({settings[i], most, &faulty[question.member][question.peer][settings[i]]});
  }
  return tried;
}

std::vector<size_t> Indices(size_t count) {
  std::vector<size_t> indices(count);
  for (size_t i = 0; i < count; ++i) indices[i] = i;
  return indices;
}

// Why no setting was chosen: how many find the fault at all, and how many of these have few false alarms in each world.
std::string WhyNone(const Question& question, const Alarms& alarms, const Faulty& faulty) {
  const std::vector<Outcomes>& outcomes = faulty[question.member][question.peer];
  const auto finding = std::ranges::count_if(outcomes, [](const Outcomes& one) { return one.Median().has_value(); });
  std::vector<std::string> left_in;
  for (const size_t world : question.Worlds()) {
    int left = 0;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      left += outcomes[i].Median() && alarms[world][question.peer][i] <= analysis::kAlphaTotal ? 1 : 0;
    }
    left_in.push_back(fmt::format("{}: {}", question.group.equal[world].name, left));
  }
  return fmt::format("{} of {} settings find it; how many of these have few false alarms in {}", finding,
                     outcomes.size(), fmt::join(left_in, ", "));
}

// The settings of each peer that are counted again.
OfPeers<std::vector<size_t>> ListsOf(const Group& group, const Alarms& alarms, const Faulty& faulty, size_t count) {
  // A setting with a true share of 1 % has a count above 3 % of 300 in one of a thousand cases.
  constexpr std::array kFalseAlarmsMax = {3 * analysis::kAlphaTotal, analysis::kAlphaTotal, analysis::kAlphaTotal / 3};
  OfPeers<std::set<size_t>> sets;
  for (const Question& question : QuestionsOf(group)) {
    const std::vector<Tried> tried = TriedOf(question, Indices(alarms[0][question.peer].size()), alarms, faulty);
    const std::vector<size_t> list = Shortlist(tried, kFalseAlarmsMax, count);
    sets[question.peer].insert(list.begin(), list.end());
  }
  OfPeers<std::vector<size_t>> lists;
  for (size_t peer = 0; peer < kPeers; ++peer) lists[peer].assign(sets[peer].begin(), sets[peer].end());
  return lists;
}

OfPeers<Json> Selected(const OfPeers<Json>& settings, const OfPeers<std::vector<size_t>>& lists) {
  OfPeers<Json> selected;
  for (size_t peer = 0; peer < kPeers; ++peer) {
    selected[peer] = Json::array();
    for (const size_t setting : lists[peer]) selected[peer].push_back(settings[peer][setting]);
  }
  return selected;
}

// Changes the choices from indices of `settings` to those of the settings that are chosen at least once.
OfPeers<Json> KeepChosen(const OfPeers<Json>& settings, std::vector<Tuned::OfFamilies>& of_members) {
  OfPeers<std::vector<size_t>> chosen;
  for (Tuned::OfFamilies& of_families : of_members) {
    for (OfPeers<Tuned::Choice>& choices : of_families) {
      for (size_t peer = 0; peer < kPeers; ++peer) {
        std::optional<size_t>& setting = choices[peer].setting;
        if (!setting) continue;
        const auto found = std::ranges::find(chosen[peer], *setting);
        const auto index = static_cast<size_t>(found - chosen[peer].begin());
        if (found == chosen[peer].end()) chosen[peer].push_back(*setting);
        setting = index;
      }
    }
  }
  return Selected(settings, chosen);
}

}  // namespace

Result<Tuned> Tune(const Group& group, const std::string& program, const Rollouts& rollouts,
                   const TuningCounts& counts) {
  OfPeers<Json> settings;
  const int seconds = static_cast<int>(WatchFor(group.equal.front().world).seconds_max);
  for (const Peer peer : AllPeers()) settings[static_cast<size_t>(peer)] = SweepOf(peer, group.measures, seconds);
  ASSIGN_OR_RETURN(PeerSession all, PeerSession::Start(program, settings));
  ASSIGN_OR_RETURN(const Alarms screened, CountAlarms(group, With(rollouts, counts.screened, 0), all));
  ASSIGN_OR_RETURN(const Faulty faulty, FindFaults(group, With(rollouts, counts.faulty, 0), all));

  const OfPeers<std::vector<size_t>> lists = ListsOf(group, screened, faulty, counts.listed);
  ASSIGN_OR_RETURN(PeerSession listed, PeerSession::Start(program, Selected(settings, lists)));
  ASSIGN_OR_RETURN(const Alarms counted, CountAlarms(group, With(rollouts, counts.counted, 1), listed));

  Tuned tuned{{}, std::vector<Tuned::OfFamilies>(group.members.size())};
  for (const Question& question : QuestionsOf(group)) {
    Tuned::Choice& choice = tuned.of_members[question.member][static_cast<size_t>(question.family)][question.peer];
    choice.setting = ChooseSetting(TriedOf(question, lists[question.peer], counted, faulty), analysis::kAlphaTotal);
    if (!choice.setting) choice.why = WhyNone(question, screened, faulty);
  }
  tuned.settings = KeepChosen(settings, tuned.of_members);
  return tuned;
}

}  // namespace longshore::sim
