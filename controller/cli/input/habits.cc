#include "controller/cli/input/habits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "controller/api/types.h"
#include "controller/cli/input/targets.h"

namespace longshore::cli::input {
namespace {

struct Habit {
  std::array<std::string_view, 2> begin;  // The first words of the command; the second may be "".
  std::string_view advice;
};

constexpr std::string_view kEdit =
    "change the manifest and apply it, or use longshore set version NAME N; on a cluster kubectl {} works on "
    "models.longshore.dev and servingfleets.longshore.dev";
constexpr std::string_view kRestart =
    "longshore retry NAME tries a failed version again; to restart the nodes of a cluster use kubectl rollout restart";
constexpr std::string_view kPods =
    "the nodes of a fleet are pods: longshore describe fleet NAME lists them, and kubectl {} works on them";
constexpr std::string_view kApply = "use longshore apply -f FILE";

constexpr std::array kHabits = {
    Habit{{"argo", ""},
          "leave out \"argo rollouts\": longshore rollout NAME --watch shows a rollout; promote, abort, pause, resume, "
          "retry and undo control it"},
    Habit{{"list", ""}, "use longshore get models"},
    Habit{{"edit", ""}, kEdit},
    Habit{{"patch", ""}, kEdit},
    Habit{{"label", ""}, kEdit},
    Habit{{"annotate", ""}, kEdit},
    Habit{{"scale", ""},
          "change spec.replicas of the fleet's manifest and apply it; on a cluster kubectl scale "
          "servingfleets.longshore.dev/NAME --replicas=N works too"},
    Habit{{"autoscale", ""}, "set replicas.max and autoscaling in the fleet's manifest and apply it"},
    Habit{{"restart", ""}, kRestart},
    Habit{{"rollout", "restart"}, kRestart},
    Habit{{"rollout", "status"}, "use longshore status NAME --wait"},
    Habit{{"rollout", "undo"}, "use longshore undo NAME"},
    Habit{{"rollout", "pause"}, "use longshore pause NAME"},
    Habit{{"rollout", "resume"}, "use longshore resume NAME"},
    Habit{{"rollout", "history"}, "use longshore events NAME"},
    Habit{{"set", "image"}, "a model has versions and no image: use longshore set version NAME N"},
    Habit{{"create", ""}, kApply},
    Habit{{"replace", ""}, kApply},
    Habit{{"wait", ""}, "use longshore status NAME --wait --timeout 10m"},
    Habit{{"version", ""}, "use longshore --version"},
    Habit{{"exec", ""}, kPods},
    Habit{{"attach", ""}, kPods},
    Habit{{"port-forward", ""}, kPods},
    Habit{{"top", ""}, "longshore profile ADDRESS measures the ops of a node; kubectl top works on its pod"}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kFlags = {
    {{"--sort-by", "objects are sorted by namespace and name; sort the lines of -o jsonpath with sort"},
     {"--show-labels", "use -o wide"},
     {"--label-columns", "use -o wide"},
     {"-L", "use -o wide"},
     {"--field-selector", "use -o jsonpath='{.items[?(@.spec.version>3)]...}', or -l for labels"},
     {"--template", "use -o jsonpath=TEMPLATE"},
     {"--full", "promote goes to the next step; give it again for the one after it"},
     {"--to-revision", "use --to VERSION"},
     {"--kustomize", "use kubectl kustomize DIR | longshore apply -f -"},
     {"-k", "use kubectl kustomize DIR | longshore apply -f -"},
     {"--server-side", "leave it out: an apply on a cluster is always executed by the server"}}};

// Commands for one model take its name alone; kubectl's take a kind before it.
std::string AdviceForKind(const std::vector<std::string>& words) {
  static constexpr std::array<std::string_view, 10> kOfOneModel = {
      "explain", "rollout", "events", "promote", "abort", "pause", "resume", "retry", "undo", "validate"};
  if (words.size() != 3 || std::ranges::find(kOfOneModel, words[0]) == kOfOneModel.end()) return "";
  const auto targets = ParseTargets({words[1]});
  if (!targets || targets->front().kind != api::kModelKind) return "";
  return fmt::format("leave out the kind: longshore {} {}", words[0], words[2]);
}

}  // namespace

std::string AdviceForCommand(const std::vector<std::string>& words) {
  if (words.empty()) return "";
  const auto* const found = std::ranges::find_if(kHabits, [&](const Habit& habit) {
    return habit.begin[0] == words[0] && (habit.begin[1].empty() || (words.size() > 1 && habit.begin[1] == words[1]));
  });
  if (found == kHabits.end()) return AdviceForKind(words);
  return fmt::format(fmt::runtime(found->advice), words[0]);
}

std::string_view AdviceForFlag(std::string_view flag) {
  const auto* const found = std::ranges::find(kFlags, flag, [](const auto& known) { return known.first; });
  return found == kFlags.end() ? std::string_view() : found->second;
}

std::string_view AdviceForOutput(std::string_view output) {
  if (output.starts_with("custom-columns"))
    return "use -o jsonpath='{range .items[*]}{.metadata.name}{\"\\t\"}{.spec.version}{\"\\n\"}{end}'";
  if (output.starts_with("go-template")) return "use -o jsonpath=TEMPLATE";
  return "";
}

}  // namespace longshore::cli::input
