#include "tests/sim/peer_rows.h"

#include <algorithm>
#include <utility>

#include "controller/decide/analysis/analysis.h"
#include "tests/sim/peer_session.h"

namespace longshore::sim {
namespace {

constexpr double kGoal = 1.2;

Measures MeasuresOf(const World& world) {
  const HiddenFault& hidden = world.hidden;
  const bool slower = world.slowdown != 1 || hidden.class_slowdown != 1 || hidden.row_slowdown != 1;
  return slower ? Measures::kRunTimes : Measures::kErrors;
}

// Faults in worlds that are alike without them, and that are found by the same kind of measure.
struct Group {
  World equal;
  Measures measures = Measures::kErrors;
  std::vector<Fault> faults;
};

std::vector<Group> GroupsOf(const std::vector<Fault>& faults) {
  std::vector<Group> groups;
  for (const Fault& fault : faults) {
    const World equal = EqualOf(fault.world);
    const Measures measures = MeasuresOf(fault.world);
    const auto found = std::ranges::find_if(
        groups, [&](const Group& group) { return group.equal == equal && group.measures == measures; });
    if (found == groups.end()) {
      groups.push_back({equal, measures, {fault}});
    } else {
      found->faults.push_back(fault);
    }
  }
  return groups;
}

// Returns stable's true error share and quantiles, from many short simulations without a candidate.
Stable StableOf(const World& world) {
  constexpr int kServices = 50;
  constexpr int kSeconds = 100;
  int64_t requests = 0;
  int64_t errors = 0;
  std::vector<double> run_times;
  for (uint64_t seed = 0; seed < kServices; ++seed) {
    Service service(world, {.share = 0}, seed);
    Period period;
    for (int second = 0; second < kSeconds; ++second) service.AddSecond(0, true, period);
    const api::ArmEvidence stable = analysis::Sum(period.windows).stable;
    requests += stable.requests;
    errors += stable.errors;
    run_times.insert(run_times.end(), period.stable_run_times_us.begin(), period.stable_run_times_us.end());
  }
  std::ranges::sort(run_times);
  const auto at = [&](double quantile) {
    return run_times[static_cast<size_t>(quantile * static_cast<double>(run_times.size() - 1))];
  };
  return {static_cast<double>(errors) / static_cast<double>(requests), at(0.5), at(0.9), at(0.99)};
}

// How many rollouts choose the settings. The false alarms must be few, so that many rollouts are needed to count them.
constexpr int kChooseEqualMin = 300;
constexpr int kChooseFaulty = 100;

// Rollouts with seeds that no other part of the table uses.
enum class Part { kChoose = 1, kCompare = 2, kDocumented = 3 };
Rollouts RolloutsOf(const Rollouts& rollouts, Part part, int count) {
  return {count, rollouts.seed * 16 + static_cast<uint64_t>(part), rollouts.threads};
}

// The chosen setting of each peer for each fault of a group: an index of the settings that were tried.
using Choice = OfPeers<std::optional<size_t>>;
struct Chosen {
  OfPeers<Json> settings;  // Those that were tried.
  std::vector<Choice> of_faults;
};

Result<Chosen> Choose(const Group& group, const PeerOptions& options) {
  Chosen chosen;
  const int seconds = static_cast<int>(WatchFor(group.equal).seconds_max);
  const Stable stable = StableOf(group.equal);
  for (const Peer peer : AllPeers()) {
    chosen.settings[static_cast<size_t>(peer)] = SweepOf(peer, group.measures, stable, seconds);
  }
  ASSIGN_OR_RETURN(PeerSession session, PeerSession::Start(options.program, chosen.settings));
  const auto record = [&](const World& world) {
    return [&](size_t rollout, uint64_t seed) {
      Recording recording({kPointSeconds, group.measures == Measures::kRunTimes});
      RecordWatch(world, LadderFor(world), WatchFor(world), seed, recording);
      return recording.Line(rollout);
    };
  };
  const auto run = [&](const std::string& what, const World& world, int count) {
    return session.Run("choice of settings: " + what, RolloutsOf(options.rollouts, Part::kChoose, count),
                       record(world));
  };
  const int equal_count = std::max(kChooseEqualMin, options.rollouts.count);
  ASSIGN_OR_RETURN(const auto equal, run("equal versions", group.equal, equal_count));
  for (const Fault& fault : group.faults) {
    ASSIGN_OR_RETURN(const auto faulty, run(fault.name, fault.world, kChooseFaulty));
    Choice& choice = chosen.of_faults.emplace_back();
    for (size_t peer = 0; peer < kPeers; ++peer) {
      choice[peer] = ChooseSetting(equal[peer], faulty[peer], analysis::kAlphaTotal);
    }
  }
  return chosen;
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
  Recording::Options recording;
};

Result<Compared> Compare(const std::string& what, const Judged& judged, const Rollouts& rollouts,
                         PeerSession& session) {
  Compared compared;
  compared.ours.outcomes.requests.resize(static_cast<size_t>(rollouts.count));
  compared.ours.pairs.resize(static_cast<size_t>(rollouts.count));
  const auto record = [&](size_t rollout, uint64_t seed) {
    Recording recording(judged.recording);
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

// The settings that are chosen for at least one fault, and where each fault finds its own.
struct Finalists {
  OfPeers<Json> settings;
  std::vector<Choice> of_faults;  // Indices of `settings`.
};

Finalists FinalistsOf(const Chosen& chosen) {
  Finalists finalists{{}, chosen.of_faults};
  for (size_t peer = 0; peer < kPeers; ++peer) {
    std::vector<size_t> kept;
    finalists.settings[peer] = Json::array();
    for (Choice& choice : finalists.of_faults) {
      if (!choice[peer]) continue;
      const auto found = std::ranges::find(kept, *choice[peer]);
      if (found == kept.end()) {
        finalists.settings[peer].push_back(chosen.settings[peer][*choice[peer]]);
        kept.push_back(*choice[peer]);
        choice[peer] = kept.size() - 1;
      } else {
        choice[peer] = static_cast<size_t>(found - kept.begin());
      }
    }
  }
  return finalists;
}

Row RowOf(const Fault& fault, size_t peer, const Compared& equal, const Compared& faulty, const Json& settings,
          std::optional<size_t> choice) {
  Row row{.what = "requests of the candidate until a fault is found, median: " + fault.name,
          .peer = NameOf(static_cast<Peer>(peer)),
          .ours = faulty.ours.outcomes.Median(),
          .theirs = std::nullopt,
          .goal = kGoal};
  row.details = fmt::format("ours: found in {}, false alarms {}, median {:.0f} pairs; ",
                            TextOf(faulty.ours.outcomes.RolledBack()), TextOf(equal.ours.outcomes.RolledBack()),
                            MedianOf(faulty.ours.pairs));
  if (!choice) {
    row.details += fmt::format("theirs: no setting finds it in half of the rollouts with at most {:g} % false alarms",
                               100 * analysis::kAlphaTotal);
    return row;
  }
  const Outcomes& theirs = faulty.theirs[peer][*choice];
  row.theirs = theirs.Median();
  row.details +=
      fmt::format("theirs: found in {}, false alarms {}; setting: {}", TextOf(theirs.RolledBack()),
                  TextOf(equal.theirs[peer][*choice].RolledBack()), settings[*choice].at("name").get<std::string>());
  return row;
}

Status AddGroup(const Group& group, const PeerOptions& options, std::vector<Row>& rows) {
  ASSIGN_OR_RETURN(const Chosen chosen, Choose(group, options));
  const Finalists finalists = FinalistsOf(chosen);
  ASSIGN_OR_RETURN(PeerSession session, PeerSession::Start(options.program, finalists.settings));
  const Rollouts rollouts = RolloutsOf(options.rollouts, Part::kCompare, options.rollouts.count);
  const auto compare = [&](const std::string& what, const World& world) {
    return Compare("comparison: " + what,
                   {world, WatchFor(world), {kPointSeconds, group.measures == Measures::kRunTimes}}, rollouts, session);
  };
  ASSIGN_OR_RETURN(const Compared equal, compare("equal versions", group.equal));
  for (size_t i = 0; i < group.faults.size(); ++i) {
    const Fault& fault = group.faults[i];
    ASSIGN_OR_RETURN(const Compared faulty, compare(fault.name, fault.world));
    for (size_t peer = 0; peer < kPeers; ++peer) {
      rows.push_back(RowOf(fault, peer, equal, faulty, finalists.settings[peer], finalists.of_faults[i][peer]));
    }
  }
  return {};
}

// Rows of the documented settings: how many of the faults are found in more than half of the rollouts.
Status AddDocumented(const PeerOptions& options, std::vector<Row>& rows) {
  constexpr int kCountMin = 10;
  const Rollouts rollouts =
      RolloutsOf(options.rollouts, Part::kDocumented, std::max(kCountMin, options.rollouts.count / 10));
  OfPeers<Json> settings;
  for (const Peer peer : AllPeers()) settings[static_cast<size_t>(peer)] = Json::array({DocumentedSetting(peer)});
  ASSIGN_OR_RETURN(PeerSession session, PeerSession::Start(options.program, settings));
  const auto compare = [&](const std::string& what, const World& world) {
    return Compare("documented settings: " + what,
                   {world, {WatchFor(world).candidate_share, kDocumentedSeconds}, {kPointSeconds, true}}, rollouts,
                   session);
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
