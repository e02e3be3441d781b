#include "tests/sim/peer_rows.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

#include "controller/decide/analysis/analysis.h"
#include "tests/sim/peer_tuning.h"

namespace longshore::sim {
namespace {

constexpr double kGoal = 1.2;

// Rollouts with seeds that no other part of the table uses.
enum class Part { kChoose = 1, kCompare = 2, kDocumented = 3 };
Rollouts RolloutsOf(const Rollouts& rollouts, Part part, int count) {
  return {count, rollouts.seed * 16 + static_cast<uint64_t>(part), rollouts.threads};
}

// What our rules did with the same rollouts.
struct Ours {
  Outcomes outcomes;
  std::vector<double> pairs;
};

struct Compared {
  Ours ours;
  OfPeers<std::vector<Outcomes>> theirs;
};

struct Judged {
  const World& world;
  Watch watch;
  // The past of the rollout with a seed, and whether run times are needed.
  std::function<Recording::Options(uint64_t seed)> recording;
};

Result<Compared> Compare(const std::string& what, const Judged& judged, const Rollouts& rollouts,
                         PeerSession& session) {
  Compared compared;
  compared.ours.outcomes.requests.resize(static_cast<size_t>(rollouts.count));
  compared.ours.pairs.resize(static_cast<size_t>(rollouts.count));
  const auto record = [&](size_t rollout, uint64_t seed) {
    Recording recording(judged.recording(seed));
    const Course course = RunWatch(judged.world, LadderFor(judged.world), judged.watch, seed, &recording);
    const bool found = course.end == End::kRolledBack;
    compared.ours.outcomes.requests[rollout] = found ? static_cast<double>(course.candidate_requests) : kNever;
    compared.ours.pairs[rollout] = static_cast<double>(course.pairs);
    return recording.Line(rollout);
  };
  ASSIGN_OR_RETURN(compared.theirs, session.Run(what, rollouts, record));
  return compared;
}

std::string TextOf(const Share& share) { return fmt::format("{} of {}", share.count, share.trials); }

double MedianOf(std::vector<double> values) { return *Outcomes{std::move(values)}.Median(); }

// What the chosen settings and our rules did with rollouts that chose nothing.
struct Fresh {
  std::vector<Compared> faulty;  // For each member of the group.
  std::vector<Compared> equal;   // For each world of the group. Our rules judge only the worlds of the faults.
};

Result<Fresh> Measure(const Group& group, const Rollouts& rollouts, PeerSession& session) {
  Fresh fresh;
  const auto compare = [&](const std::string& what, const World& world) {
    const auto recording = [&](uint64_t seed) {
      return Recording::Options{kPointSeconds, group.measures == Measures::kRunTimes,
                                PastOf(world, seed, group.measures)};
    };
    return Compare("comparison: " + what, {world, WatchFor(world), recording}, rollouts, session);
  };
  for (const auto& [fault, own] : group.members) {
    ASSIGN_OR_RETURN(fresh.faulty.emplace_back(), compare(fault.name, fault.world));
  }
  for (const EqualWorld& equal : group.equal) {
    const std::string what = "equal versions, " + equal.name;
    Compared& compared = fresh.equal.emplace_back();
    if (!equal.kind) {
      ASSIGN_OR_RETURN(compared, compare(what, equal.world));
      continue;
    }
    const auto record = [&](size_t rollout, uint64_t seed) {
      return RecordEqualLine(equal, group.measures, rollout, seed);
    };
    ASSIGN_OR_RETURN(compared.theirs, session.Run("comparison: " + what, rollouts, record));
  }
  return fresh;
}

// The false alarms of a setting in the world of the fault and, of the other worlds, in the one with the most.
std::string FalseAlarmsOf(const Group& group, const std::vector<size_t>& worlds, const Fresh& fresh, size_t peer,
                          size_t setting) {
  const auto count = [&](size_t world) { return fresh.equal[world].theirs[peer][setting].RolledBack(); };
  std::string text = TextOf(count(worlds.front()));
  if (worlds.size() == 1) return text;
  const size_t most = *std::max_element(worlds.begin() + 1, worlds.end(),
                                        [&](size_t a, size_t b) { return count(a).count < count(b).count; });
  return text + fmt::format(", at most {} ({})", TextOf(count(most)), group.equal[most].name);
}

Row RowOf(const Group& group, const Tuned& tuned, const Fresh& fresh, size_t i, Family family, size_t peer) {
  const auto& [fault, own] = group.members[i];
  const Compared& faulty = fresh.faulty[i];
  Row row{.what = fmt::format("requests of the candidate until a fault is found, median: {} ({})", fault.name,
                              NameOf(family)),
          .peer = NameOf(static_cast<Peer>(peer)),
          .ours = faulty.ours.outcomes.Median(),
          .theirs = std::nullopt,
          .goal = kGoal};
  row.details = fmt::format("ours: found in {}, false alarms {}, median {:.0f} pairs; ",
                            TextOf(faulty.ours.outcomes.RolledBack()),
                            TextOf(fresh.equal[own].ours.outcomes.RolledBack()), MedianOf(faulty.ours.pairs));
  const Tuned::Choice& choice = tuned.of_members[i][static_cast<size_t>(family)][peer];
  if (!choice.setting) {
    row.details +=
        fmt::format("theirs: no setting finds it in half of the rollouts with at most {:g} % false alarms: {}",
                    100 * analysis::kAlphaTotal, choice.why);
    return row;
  }
  const Outcomes& theirs = faulty.theirs[peer][*choice.setting];
  row.theirs = theirs.Median();
  row.details +=
      fmt::format("theirs: found in {}, false alarms {}; setting: {}", TextOf(theirs.RolledBack()),
                  FalseAlarmsOf(group, WorldsOf(group, group.members[i], family), fresh, peer, *choice.setting),
                  tuned.settings[peer][*choice.setting].at("name").get<std::string>());
  return row;
}

Status AddGroup(const Group& group, const PeerOptions& options, std::vector<Row>& rows) {
  ASSIGN_OR_RETURN(const Tuned tuned,
                   Tune(group, options.program, RolloutsOf(options.rollouts, Part::kChoose, 0), options.counts));
  ASSIGN_OR_RETURN(PeerSession session, PeerSession::Start(options.program, tuned.settings));
  ASSIGN_OR_RETURN(const Fresh fresh,
                   Measure(group, RolloutsOf(options.rollouts, Part::kCompare, options.rollouts.count), session));
  const size_t before = rows.size();
  for (size_t i = 0; i < group.members.size(); ++i) {
    for (const Family family : AllFamilies()) {
      for (size_t peer = 0; peer < kPeers; ++peer) rows.push_back(RowOf(group, tuned, fresh, i, family, peer));
    }
  }
  // The whole table takes an hour.
  fmt::print(stderr, "{}", ToText({rows.begin() + static_cast<std::ptrdiff_t>(before), rows.end()}));
  return {};
}

// Rows of the documented settings: how many of the faults are found in more than half of the rollouts.
Status AddDocumented(const PeerOptions& options, std::vector<Row>& rows) {
  constexpr int kCountMin = 10;
  const Rollouts rollouts =
      RolloutsOf(options.rollouts, Part::kDocumented, std::max(kCountMin, options.rollouts.count / 20));
  OfPeers<Json> settings;
  for (const Peer peer : AllPeers()) settings[static_cast<size_t>(peer)] = Json::array({DocumentedSetting(peer)});
  ASSIGN_OR_RETURN(PeerSession session, PeerSession::Start(options.program, settings));
  const auto compare = [&](const std::string& what, const World& world) {
    return Compare("documented settings: " + what,
                   {world,
                    {WatchFor(world).candidate_share, kDocumentedSeconds},
                    [](uint64_t) {
                      return Recording::Options{kPointSeconds, true};
                    }},
                   rollouts, session);
  };
  ASSIGN_OR_RETURN(const Compared equal, compare("equal versions", World{}));
  double found_by_us = 0;
  OfPeers<double> found{};
  OfPeers<std::string> details;
  for (const Fault& fault : options.faults) {
    ASSIGN_OR_RETURN(const Compared faulty, compare(fault.name, fault.world));
    found_by_us += faulty.ours.outcomes.Median() ? 1 : 0;
    for (size_t peer = 0; peer < kPeers; ++peer) {
      found[peer] += faulty.theirs[peer][0].Median() ? 1 : 0;
      details[peer] += fmt::format("; {}: ours {}, theirs {}", fault.name, TextOf(faulty.ours.outcomes.RolledBack()),
                                   TextOf(faulty.theirs[peer][0].RolledBack()));
    }
  }
  for (size_t peer = 0; peer < kPeers; ++peer) {
    rows.push_back(
        {fmt::format("faults, of {}, that the documented setting finds in half of the rollouts", options.faults.size()),
         NameOf(static_cast<Peer>(peer)), found_by_us, found[peer], 1, Better::kHigher,
         fmt::format("false alarms: ours {}, theirs {}{}", TextOf(equal.ours.outcomes.RolledBack()),
                     TextOf(equal.theirs[peer][0].RolledBack()), details[peer])});
  }
  return {};
}

}  // namespace

Result<std::vector<Row>> PeerRows(const PeerOptions& options) {
  std::vector<Row> rows;
  for (const Group& group : GroupsOf(options.faults)) RETURN_IF_ERROR(AddGroup(group, options, rows));
  RETURN_IF_ERROR(AddDocumented(options, rows));
  return rows;
}

}  // namespace longshore::sim
