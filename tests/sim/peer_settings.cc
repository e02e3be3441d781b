#include "tests/sim/peer_settings.h"

#include <fmt/format.h>

#include <array>
#include <string>

namespace longshore::sim {
namespace {

// A measure and its largest value that is not a failure.
struct Limit {
  std::string measure;
  double max = 0;
  std::string text{};  // For people.
};

// How often a measure is taken, and over which time.
struct Schedule {
  int interval_seconds = 0;
  int window_seconds = 0;
};

std::vector<Limit> ErrorLimits() {
  std::vector<Limit> limits;
  for (const double factor : {1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0, 20.0}) {
    limits.push_back({"candidate_error_share_by_past", factor,
                      fmt::format("errors at most {:g} times stable's past share", factor)});
    limits.push_back({"error_share_ratio", factor, fmt::format("errors at most {:g} times stable's", factor)});
  }
  for (const double factor : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    limits.push_back({"error_share_difference_by_past", factor,
                      fmt::format("errors at most {:g} of stable's past share above stable's", factor)});
  }
  return limits;
}

std::vector<Limit> RunTimeLimits() {
  std::vector<Limit> limits;
  for (const char* quantile : {"p50", "p90", "p99"}) {
    for (const double factor : {1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 2.0, 3.0}) {
      limits.push_back({fmt::format("candidate_{}_us_by_past", quantile), factor,
                        fmt::format("{} at most {:g} times stable's past one", quantile, factor)});
      limits.push_back({fmt::format("{}_us_ratio", quantile), factor,
                        fmt::format("{} at most {:g} times stable's", quantile, factor)});
    }
  }
  return limits;
}

std::vector<Schedule> Schedules(int seconds) {
  std::vector<Schedule> schedules;
  for (const int interval : {10, 30, 60, 120, 300, 600, 1200}) {
    for (const int windows : {1, 2, 5}) {
      if (interval * windows <= seconds) schedules.push_back({interval, interval * windows});
    }
  }
  return schedules;
}

std::string TextOf(const Limit& limit, const Schedule& schedule, int failures) {
  return fmt::format("{} in {} s, every {} s, {} failures", limit.text, schedule.window_seconds,
                     schedule.interval_seconds, failures);
}

std::string InSeconds(int seconds) { return fmt::format("{}s", seconds); }

// A measurement without requests passes, because otherwise quiet moments would be false alarms.
Json ArgoSetting(const Limit& limit, const Schedule& schedule, int failures_max, int seconds) {
  const std::string interval = InSeconds(schedule.interval_seconds);
  const std::string condition = fmt::format("len(result) == 0 || isNaN(result[0]) || result[0] <= {}", limit.max);
  return {{"name", TextOf(limit, schedule, failures_max)},
          {"peer", "argo"},
          {"terminate_after_seconds", seconds},
          {"metrics",
           {{{"measure", limit.measure},
             {"window_seconds", schedule.window_seconds},
             {"metric",
              {{"name", "m"},
               {"interval", interval},
               {"initialDelay", interval},
               {"failureLimit", failures_max},
               {"successCondition", condition}}}}}}};
}

// The iterations end with the rollout, as the other rules do.
Json FlaggerSetting(const Limit& limit, const Schedule& schedule, int threshold, int seconds) {
  return {{"name", TextOf(limit, schedule, threshold)},
          {"peer", "flagger"},
          {"analysis",
           {{"interval", InSeconds(schedule.interval_seconds)},
            {"threshold", threshold},
            {"iterations", seconds / schedule.interval_seconds - 1}}},
          {"metrics",
           {{{"measure", limit.measure},
             {"metric",
              {{"name", "m"},
               {"interval", InSeconds(schedule.window_seconds)},
               {"thresholdRange", {{"max", limit.max}}}}}}}}};
}

struct KayentaTerms {
  std::vector<std::string> metrics;
  int judgements = 1;
  bool looks_back = false;  // One interval, instead of the whole time.
  int step_seconds = 60;
  bool critical = false;
  std::string effect;  // "meanRatio" or "cles".
  double allowed_increase = 1;
};

std::string TextOf(const KayentaTerms& terms) {
  return fmt::format("{}, {} judgements of {}, step {} s, {}allowedIncrease {:g} ({})", fmt::join(terms.metrics, "+"),
                     terms.judgements, terms.looks_back ? "one interval" : "all", terms.step_seconds,
                     terms.critical ? "critical, " : "", terms.allowed_increase, terms.effect);
}

Json KayentaMetric(const std::string& measure, const KayentaTerms& terms) {
  return {{"measure", measure},
          {"metric",
           {{"name", measure},
            {"groups", Json::array({"all"})},
            {"analysisConfigurations",
             {{"canary",
               {{"direction", "increase"},
                {"critical", terms.critical},
                {"effectSize", {{"measure", terms.effect}, {"allowedIncrease", terms.allowed_increase}}}}}}}}}};
}

Json KayentaSetting(const KayentaTerms& terms, int seconds) {
  const double interval_minutes = seconds / 60.0 / terms.judgements;
  Json metrics = Json::array();
  for (const std::string& measure : terms.metrics) metrics.push_back(KayentaMetric(measure, terms));
  return {{"name", TextOf(terms)},
          {"peer", "kayenta"},
          {"groupWeights", {{"all", 100}}},
          {"request",
           {{"lifetimeDurationMins", seconds / 60.0},
            {"analysisIntervalMins", interval_minutes},
            {"lookbackMins", terms.looks_back ? interval_minutes : 0},
            {"step", terms.step_seconds},
            {"thresholds", {{"marginal", 75}, {"pass", 95}}}}},
          {"metrics", std::move(metrics)}};
}

// The judgements, what they cover and the length of a step, of which a judgement has enough.
std::vector<KayentaTerms> KayentaSchedules(const std::vector<std::string>& metrics, int seconds) {
  constexpr int kValuesMin = 20;
  std::vector<KayentaTerms> schedules;
  for (const int judgements : {1, 3, 6, 12}) {
    for (const bool looks_back : {false, true}) {
      for (const int step : {10, 30, 60, 120}) {
        if (seconds / judgements / step < kValuesMin || (judgements == 1 && looks_back)) continue;
        schedules.push_back({metrics, judgements, looks_back, step, false, "", 0});
      }
    }
  }
  return schedules;
}

Json KayentaSweep(Measures measures, int seconds) {
  using Metrics = std::vector<std::string>;
  const std::vector<Metrics> choices =
      measures == Measures::kErrors
          ? std::vector<Metrics>{{"error_share"}}
          : std::vector<Metrics>{{"p50_us"}, {"p90_us"}, {"p99_us"}, {"p50_us", "p90_us", "p99_us"}};
  struct Effect {
    const char* measure;
    double allowed_increase;
  };
  constexpr std::array<Effect, 9> kEffects = {{{"meanRatio", 1},
                                               {"meanRatio", 1.1},
                                               {"meanRatio", 1.25},
                                               {"meanRatio", 1.5},
                                               {"meanRatio", 2},
                                               {"cles", 0.5},
                                               {"cles", 0.6},
                                               {"cles", 0.7},
                                               {"cles", 0.8}}};
  Json settings = Json::array();
  for (const Metrics& metrics : choices) {
    for (KayentaTerms terms : KayentaSchedules(metrics, seconds)) {
      for (const auto& [effect, allowed_increase] : kEffects) {
        for (const bool critical : {false, true}) {
          terms.effect = effect;
          terms.allowed_increase = allowed_increase;
          terms.critical = critical;
          settings.push_back(KayentaSetting(terms, seconds));
        }
      }
    }
  }
  return settings;
}

}  // namespace

std::vector<Peer> AllPeers() { return {Peer::kArgo, Peer::kFlagger, Peer::kKayenta}; }

const char* NameOf(Peer peer) {
  switch (peer) {
    case Peer::kArgo: return "Argo Rollouts";
    case Peer::kFlagger: return "Flagger";
    case Peer::kKayenta: return "Kayenta";
  }
  return "";
}

Json SweepOf(Peer peer, Measures measures, int seconds) {
  if (peer == Peer::kKayenta) return KayentaSweep(measures, seconds);
  const bool argo = peer == Peer::kArgo;
  const std::vector<int> failures = argo ? std::vector{0, 1, 2, 3, 4} : std::vector{1, 2, 3, 4, 5, 10};
  Json settings = Json::array();
  for (const Limit& limit : measures == Measures::kErrors ? ErrorLimits() : RunTimeLimits()) {
    for (const Schedule& schedule : Schedules(seconds)) {
      for (const int count : failures) {
        settings.push_back(argo ? ArgoSetting(limit, schedule, count, seconds)
                                : FlaggerSetting(limit, schedule, count, seconds));
      }
    }
  }
  return settings;
}

Json DocumentedSetting(Peer peer) {
  switch (peer) {
    case Peer::kArgo:
      return Json::parse(R"({"name": "documented", "peer": "argo", "metrics": [{"measure": "candidate_success_percent",
        "metric": {"name": "success-rate", "interval": "5m", "successCondition": "result[0] >= 95",
                   "failureLimit": 3}}]})");
    case Peer::kFlagger:
      return Json::parse(R"({"name": "documented", "peer": "flagger",
        "analysis": {"interval": "1m", "threshold": 10, "maxWeight": 50, "stepWeight": 5}, "metrics": [
        {"metric": {"name": "request-success-rate", "interval": "1m", "thresholdRange": {"min": 99}}},
        {"metric": {"name": "request-duration", "interval": "1m", "thresholdRange": {"max": 500}}}]})");
    case Peer::kKayenta:
      return Json::parse(R"({"name": "documented", "peer": "kayenta", "groupWeights": {"errors": 50, "run time": 50},
        "request": {"lifetimeDurationMins": 180, "analysisIntervalMins": 60, "step": 60,
                    "thresholds": {"marginal": 75, "pass": 95}}, "metrics": [
        {"measure": "error_share", "metric": {"name": "errors", "groups": ["errors"],
         "analysisConfigurations": {"canary": {"direction": "increase"}}}},
        {"measure": "p99_us", "metric": {"name": "run time", "groups": ["run time"],
         "analysisConfigurations": {"canary": {"direction": "increase"}}}}]})");
  }
  return nullptr;
}

}  // namespace longshore::sim
