#include "controller/cli/input/targets.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/lower_case.h"
#include "common/base/nearest_word.h"
#include "controller/api/types.h"

namespace longshore::cli::input {
namespace {

// The second one is the category of the custom resources.
constexpr std::array<std::string_view, 2> kAll = {"all", "longshore"};
// In the order of help texts and completions.
const std::array<std::pair<std::string_view, const char*>, 8> kKinds = {{{"models", api::kModelKind},
                                                                         {"fleets", api::kServingFleetKind},
                                                                         {"model", api::kModelKind},
                                                                         {"fleet", api::kServingFleetKind},
                                                                         {"servingfleets", api::kServingFleetKind},
                                                                         {"servingfleet", api::kServingFleetKind},
                                                                         {"lsm", api::kModelKind},
                                                                         {"lsf", api::kServingFleetKind}}};

constexpr std::string_view kGroupAndVersion = api::kApiVersion;
std::string Group() { return std::string(kGroupAndVersion.substr(0, kGroupAndVersion.find('/'))); }
std::string Version() { return std::string(kGroupAndVersion.substr(kGroupAndVersion.find('/') + 1)); }

// "models.v1alpha1.longshore.dev" -> "models"; the word itself if it does not end with the group.
std::string WithoutGroup(const std::string& word) {
  for (const std::string& suffix : {"." + Version() + "." + Group(), "." + Group()}) {
    if (word.size() > suffix.size() && word.ends_with(suffix)) return word.substr(0, word.size() - suffix.size());
  }
  return word;
}

// The kinds of Kubernetes, of Argo Rollouts and of KServe that people look for, and where to find what they want.
const std::array<std::pair<std::string_view, const char*>, 12> kElsewhere = {
    {{"pods", "longshore describe fleet NAME lists the nodes of a fleet; kubectl get pods shows their pods"},
     {"pod", "longshore describe fleet NAME lists the nodes of a fleet; kubectl get pods shows their pods"},
     {"po", "longshore describe fleet NAME lists the nodes of a fleet; kubectl get pods shows their pods"},
     {"nodes", "longshore describe fleet NAME lists the nodes of a fleet"},
     {"node", "longshore describe fleet NAME lists the nodes of a fleet"},
     {"rollouts", "a rollout belongs to its model: longshore rollout NAME, or longshore get models"},
     {"rollout", "a rollout belongs to its model: longshore rollout NAME, or longshore get models"},
     {"ro", "a rollout belongs to its model: longshore rollout NAME, or longshore get models"},
     {"events", "use longshore events"},
     {"inferenceservices", "use models; longshore import kserve converts an InferenceService"},
     {"inferenceservice", "use models; longshore import kserve converts an InferenceService"},
     {"isvc", "use models; longshore import kserve converts an InferenceService"}}};

Result<std::string> ParseKind(const std::string& word) {
  const std::string name = WithoutGroup(LowerCase(word));
  const auto* const found = std::ranges::find(kKinds, name, [](const auto& kind) { return kind.first; });
  if (found != kKinds.end()) return std::string(found->second);
  const auto* const elsewhere = std::ranges::find(kElsewhere, name, [](const auto& kind) { return kind.first; });
  if (elsewhere != kElsewhere.end())
    return InvalidArgument("\"{}\" is not a kind of longshore: {}", word, elsewhere->second);
  const std::optional<std::string> nearest = NearestWord(name, KindNames());
  if (nearest)
    return InvalidArgument("\"{}\" is not a kind; did you mean {}? The kinds are models and fleets", word, *nearest);
  return InvalidArgument(
      "\"{}\" is not a kind; the kinds are models and fleets. If it is the name of a model, write model/{}", word,
      word);
}

Result<Target> ParseSlashed(const std::string& word) {
  const size_t slash = word.find('/');
  Target target{.kind = {}, .name = word.substr(slash + 1)};
  if (target.name.empty() || target.name.find('/') != std::string::npos)
    return InvalidArgument("\"{}\" is not of the form KIND/NAME", word);
  ASSIGN_OR_RETURN(target.kind, ParseKind(word.substr(0, slash)));
  return target;
}

Result<std::vector<Target>> ParseAllSlashed(const std::vector<std::string>& words) {
  std::vector<Target> targets;
  for (const std::string& word : words) {
    if (word.find('/') == std::string::npos)
      return InvalidArgument("\"{}\" has no kind: write KIND/NAME for each object, or KIND NAME NAME", word);
    ASSIGN_OR_RETURN(targets.emplace_back(), ParseSlashed(word));
  }
  return targets;
}

// Parses "models", "models,fleets" and "all".
Result<std::vector<std::string>> ParseKinds(const std::string& word) {
  if (std::ranges::find(kAll, LowerCase(word)) != kAll.end())
    return std::vector<std::string>{api::kModelKind, api::kServingFleetKind};
  std::vector<std::string> kinds;
  for (size_t begin = 0; begin <= word.size();) {
    const size_t end = std::min(word.find(',', begin), word.size());
    ASSIGN_OR_RETURN(kinds.emplace_back(), ParseKind(word.substr(begin, end - begin)));
    begin = end + 1;
  }
  return kinds;
}

}  // namespace

Result<std::vector<Target>> ParseTargets(const std::vector<std::string>& words) {
  if (words.empty()) return std::vector<Target>();
  if (words[0].find('/') != std::string::npos) return ParseAllSlashed(words);
  ASSIGN_OR_RETURN(const std::vector<std::string> kinds, ParseKinds(words[0]));
  std::vector<Target> targets;
  for (const std::string& kind : kinds) {
    if (words.size() == 1) targets.push_back({kind, ""});
    for (auto name = words.begin() + 1; name != words.end(); ++name) {
      if (name->find('/') != std::string::npos)
        return InvalidArgument("\"{}\" has a kind already: write {}/NAME for each object, or KIND NAME NAME", *name,
                               words[0]);
      targets.push_back({kind, *name});
    }
  }
  return targets;
}

std::string ResourceOf(const std::string& kind) { return LowerCase(kind) + "." + Group(); }

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kKinds) names.emplace_back(name);
  return names;
}

}  // namespace longshore::cli::input
