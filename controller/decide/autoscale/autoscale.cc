#include "controller/decide/autoscale/autoscale.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "controller/api/format.h"
#include "controller/decide/autoscale/reading.h"
#include "controller/decide/autoscale/scene.h"
#include "controller/decide/autoscale/starts.h"

namespace longshore::autoscale {
namespace {

// Maximum growth if the demand does not explain why requests wait.
constexpr double kStepMax = 0.25;
// A limit for the utilization rises by this factor after this time.
constexpr double kLimitGrowth = 1.25;
constexpr Duration kLimitFor = std::chrono::hours(1);

// ------------------------------------------------------------------------------------------- The new status

// Why a decision was made. Without a reading, the value, target and evidence time of the status are empty.
struct Reason {
  std::string reason;
  std::string message;
  const Reading* reading = nullptr;
};

api::AutoscaleStatus Set(api::AutoscaleStatus status, int desired, const Reason& why) {
  const Reading reading = why.reading == nullptr ? Reading{} : *why.reading;
  status.desired = desired;
  status.reason = why.reason;
  status.message = why.message;
  status.value = reading.value;
  status.target = reading.target;
  status.evidence_at = reading.at;
  return status;
}

// Changes the number of wanted nodes from scene.replicas().
api::AutoscaleStatus Scale(api::AutoscaleStatus status, const Scene& scene, int to, const Reason& why) {
  NoteWanted(status, {.from = scene.replicas(), .to = to}, scene.now);
  const bool grows = to > scene.replicas();
  std::erase_if(status.recommendations,
                [&](const api::Recommendation& fewer) { return grows || fewer.replicas >= to; });
  status.waiting_since = {};
  return Set(std::move(status), to, why);
}

bool IsSignal(const std::string& reason) {
  return reason == "QueueDelay" || reason == "Latency" || reason == "Utilization";
}

// Keeps the number of nodes because of a signal. A reason that explains this number already stays.
api::AutoscaleStatus Hold(api::AutoscaleStatus status, const Scene& scene, const Reason& why) {
  status.recommendations.clear();
  if (status.desired == scene.replicas() && IsSignal(status.reason)) return status;
  return Set(std::move(status), scene.replicas(), why);
}

api::AutoscaleStatus AtMaximum(api::AutoscaleStatus status, const Scene& scene, const Reading& reading) {
  status.recommendations.clear();
  if (status.reason == "AtMaximum" && status.desired == scene.replicas()) return status;
  const std::string message =
      fmt::format("{} is above its target, but {} nodes are the maximum", reading.what, scene.replicas());
  return Set(std::move(status), scene.replicas(), {"AtMaximum", message, &reading});
}

// ------------------------------------------------------------------------------------------- Times that last

// Times that began before a longer gap in the metrics are not known to last.
void ForgetBeforeGap(const Scene& scene, api::AutoscaleStatus& status) {
  const Duration unchecked = scene.now - status.checked_at;
  if (unchecked >= Duration(0) && unchecked <= scene.Gap()) return;
  status.recommendations.clear();
  status.waiting_since = {};
}

// Notes that times which last are confirmed now. It is written only when it has become old.
void NoteChecked(const Scene& scene, api::AutoscaleStatus& status) {
  const Duration unchecked = scene.now - status.checked_at;
  if (unchecked < Duration(0) || unchecked >= scene.autoscaling().metrics_age_max) status.checked_at = scene.now;
}

// Notes that `enough` nodes are enough now. Since the time at which fewer were enough, `enough` were enough, too. To
// leave out an entry only keeps more nodes for longer. So there is about one entry per tenth of the stabilization, and
// a load that falls within seconds removes its nodes in one or two steps.
void NoteEnough(const Scene& scene, std::vector<api::Recommendation>& recommendations, int enough) {
  TimePoint since = scene.now;
  while (!recommendations.empty() && recommendations.back().replicas < enough) {
    since = recommendations.back().at;
    recommendations.pop_back();
  }
  if (!recommendations.empty() && recommendations.back().replicas == enough) return;
  const size_t count = recommendations.size();
  const Duration apart = scene.autoscaling().scale_down_stabilization / 10;
  const bool is_crowded = count >= 2 && since - recommendations[count - 2].at < apart;
  if (is_crowded || count == api::kRecommendationsMax) recommendations.pop_back();
  recommendations.push_back({since, enough});
}

// ------------------------------------------------------------------------------------------- Up

api::AutoscaleStatus Up(api::AutoscaleStatus status, const Scene& scene, const Reading& reading, int needed) {
  const int to = std::min(needed, scene.spec.replicas_max);
  if (to <= scene.replicas()) return AtMaximum(std::move(status), scene, reading);
  if (scene.now - status.last_scale_up < scene.autoscaling().scale_up_cooldown) {
    status.recommendations.clear();
    status.desired = scene.replicas();
    return status;
  }
  status.last_scale_up = scene.now;
  const std::string demand =
      scene.rates ? fmt::format("{:.4g} requests/s need {} nodes, ", scene.rates->arrivals_per_second, needed) : "";
  const std::string message =
      fmt::format("{}: {}from {} to {} nodes", reading.AboveTarget(), demand, scene.replicas(), to);
  return Scale(std::move(status), scene, to, {reading.reason, message, &reading});
}

// Adds a few nodes, and limits the utilization to the one that results from them.
api::AutoscaleStatus StepUp(api::AutoscaleStatus status, const Scene& scene, const Reading& reading) {
  const int replicas = scene.replicas();
  const double share = std::min(reading.Ratio() - 1, kStepMax);
  const int to = std::min(replicas + std::max(RoundUp(replicas * share), 1), scene.spec.replicas_max);
  if (to == replicas) return AtMaximum(std::move(status), scene, reading);
  if (const auto busy_nodes = NodesAt(1, scene); busy_nodes && *busy_nodes > 0) {
    status.utilization_limit = {*busy_nodes / to / (1 + kDeadBand), scene.now, reading.what, reading.target};
  }
  status.last_scale_up = scene.now;
  const std::string message = fmt::format(
      "{} for {}, which more requests do not explain: from {} to {} nodes", reading.AboveTarget(),
      api::FormatDuration(std::chrono::duration_cast<std::chrono::seconds>(scene.now - status.waiting_since)), replicas,
      to);
  return Scale(std::move(status), scene, to, {reading.reason, message, &reading});
}

// What will end the wait of requests if the fleet has the nodes that its demand needs; "" if nothing will. Nodes that
// are much too late, or became unready again, may never help.
std::string Remedy(const Scene& scene, const api::AutoscaleStatus& status) {
  if (ExpectsNodes(status, scene.now)) return "waiting for nodes that start";
  if (scene.measured() < scene.input.ready) return "waiting for nodes that are not measured yet";
  return IsDraining(scene) ? "waiting until the queue is drained" : "";
}

api::AutoscaleStatus Await(api::AutoscaleStatus status, const Scene& scene, const Reading& reading,
                           const std::string& remedy) {
  status.waiting_since = {};
  return Hold(std::move(status), scene, {reading.reason, reading.AboveTarget() + "; " + remedy, &reading});
}

// Requests wait although the fleet has the nodes that its demand needs, and nothing will end it.
api::AutoscaleStatus Watch(api::AutoscaleStatus status, const Scene& scene, const Reading& reading) {
  if (status.waiting_since == TimePoint{}) status.waiting_since = scene.now;
  NoteChecked(scene, status);
  const bool lasts = scene.now - status.waiting_since >= scene.Patience();
  const bool cools = scene.now - status.last_scale_up < scene.autoscaling().scale_up_cooldown;
  if (lasts && !cools) return StepUp(std::move(status), scene, reading);
  const std::string message = reading.AboveTarget() + "; if this lasts, nodes are added";
  return Hold(std::move(status), scene, {reading.reason, message, &reading});
}

// ------------------------------------------------------------------------------------------- Down

bool ExplainsReplicas(const std::string& reason) { return reason == "Steady" || reason == "Idle" || IsSignal(reason); }

// Why the fleet cannot be scaled down; "" if all signals are known and cover all ready nodes.
std::string MissingEvidence(const Scene& scene) {
  for (const Reading& reading : scene.readings) {
    if (!reading.known) return reading.what + " is unknown or too old";
  }
  if (scene.input.metrics.nodes_missing == 0) return "";
  return fmt::format("the metrics do not cover {} ready nodes", scene.input.metrics.nodes_missing);
}

// Keeps the present number of nodes. The reason of the last change stays, because it explains this number; but if
// requests wait (`above`) and nothing will be done, the message says so.
api::AutoscaleStatus Stay(api::AutoscaleStatus status, const Scene& scene, const Reading* above) {
  status.recommendations.clear();
  if (above != nullptr) {
    const std::string message =
        fmt::format("{} is above {:.4g} s, but the nodes are mostly idle, so more nodes would not help", above->what,
                    above->target);
    if (status.desired == scene.replicas() && status.message == message) return status;
    return Set(std::move(status), scene.replicas(), {above->reason, message, above});
  }
  if (status.desired == scene.replicas() && ExplainsReplicas(status.reason)) return status;
  return Set(std::move(status), scene.replicas(),
             {"Steady", "no signal asks for more nodes, and no node can be removed", &scene.utilization()});
}

api::AutoscaleStatus Down(api::AutoscaleStatus status, const Scene& scene, const Reading* above) {
  const int replicas = scene.replicas();
  const int enough = Enough(scene, status);
  if (enough >= replicas) return Stay(std::move(status), scene, above);
  NoteEnough(scene, status.recommendations, enough);
  NoteChecked(scene, status);
  const auto lasts = [&](const api::Recommendation& fewer) {
    return scene.now - fewer.at >= scene.autoscaling().scale_down_stabilization;
  };
  const auto last = std::ranges::find_if(status.recommendations.rbegin(), status.recommendations.rend(), lasts);
  if (last == status.recommendations.rend()) {
    if (status.desired == replicas && ExplainsReplicas(status.reason)) return status;
    return Set(std::move(status), replicas,
               {"Steady", "fewer nodes are enough now; if this lasts, nodes are removed", &scene.utilization()});
  }
  const int to = last->replicas;
  const std::string waited =
      api::FormatDuration(std::chrono::duration_cast<std::chrono::seconds>(scene.now - last->at));
  const std::string message = fmt::format("{} nodes were enough for {}: from {} to {} nodes", to, waited, replicas, to);
  const Reading& utilization = scene.utilization();
  return Scale(std::move(status), scene, to, {utilization.value == 0 ? "Idle" : "Utilization", message, &utilization});
}

// ------------------------------------------------------------------------------------------- The limit of utilization

// A limit holds for the target with which it was learned. After some time a part of it is tried again.
void ReviewLimit(const Scene& scene, api::AutoscaleStatus& status) {
  api::UtilizationLimit& limit = status.utilization_limit;
  if (limit.share == 0) return;
  const auto of_signal = std::ranges::find(scene.readings, limit.signal, &Reading::what);
  const bool is_gone = of_signal == scene.readings.end() && MissingEvidence(scene).empty();
  const bool has_changed = of_signal != scene.readings.end() && of_signal->target != limit.target;
  if (scene.now - limit.at >= kLimitFor) {
    limit.share *= kLimitGrowth;
    limit.at = scene.now;
  }
  if (is_gone || has_changed || limit.share >= scene.autoscaling().utilization_target) limit = {};
}

api::AutoscaleStatus DecideWithin(api::AutoscaleStatus status, const Scene& scene) {
  ReviewLimit(scene, status);
  ForgetBeforeGap(scene, status);
  // What users feel is the reason, even if the utilization is further above its target.
  const Reading* delay = FurthestDelay(scene.readings);
  const Reading* pressing = delay;
  if (delay == nullptr && scene.utilization().IsAboveTarget()) pressing = &scene.utilization();
  if (pressing != nullptr) {
    const int needed = Needed(scene, status);
    if (needed > scene.replicas()) return Up(std::move(status), scene, *pressing, needed);
    if (const std::string remedy = Remedy(scene, status); !remedy.empty())
      return Await(std::move(status), scene, *pressing, remedy);
    if (delay != nullptr && !IsMostlyIdle(scene)) return Watch(std::move(status), scene, *delay);
  }
  if (const std::string missing = MissingEvidence(scene); !missing.empty()) {
    return Set(std::move(status), scene.replicas(), {"NoEvidence", missing + ": no node is removed"});
  }
  if (IsCalm(scene)) status.waiting_since = {};
  return Down(std::move(status), scene, delay);
}

}  // namespace

api::AutoscaleStatus Decide(const api::ServingFleetSpec& spec, const api::AutoscaleStatus& before, const Input& input,
                            TimePoint now) {
  if (!spec.autoscaling) {
    return before.desired == spec.replicas_min && before.reason == "Fixed"
               ? before
               : Set({}, spec.replicas_min, {"Fixed", "the spec has no autoscaling"});
  }
  api::AutoscaleStatus status = before;
  // The wanted number differs from the last decision if its status was not stored, or if another writer changed it.
  if (before.desired > 0) NoteWanted(status, {.from = before.desired, .to = input.replicas}, now);
  NoteReady(status, {.wanted = input.replicas, .ready = input.ready}, now);
  const Scene scene{.spec = spec,
                    .input = input,
                    .readings = ReadAll(*spec.autoscaling, input.metrics, now),
                    .rates = ReadDemand(*spec.autoscaling, input.metrics.demand, now),
                    .now = now};
  const int within = std::clamp(input.replicas, spec.replicas_min, spec.replicas_max);
  if (within == input.replicas) return DecideWithin(std::move(status), scene);
  const std::string message =
      fmt::format("{} nodes are outside the bounds {} to {}", input.replicas, spec.replicas_min, spec.replicas_max);
  return Scale(std::move(status), scene, within, {"Bounds", message});
}

}  // namespace longshore::autoscale
