#include "controller/cli/text/offers.h"

#include <algorithm>
#include <set>
#include <vector>

#include "controller/api/units.h"
#include "controller/cli/text/text.h"
#include "controller/decide/rollout/rollout.h"
#include "controller/decide/rollout/warm.h"

namespace longshore::cli::text {
namespace {

std::string PromoteEffect(const api::Model& model) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const auto& steps = model.spec.rollout.steps;
  const bool has_steps = model.spec.rollout.strategy == api::Strategy::kCanary && !steps.empty();
  const size_t next = IsWithoutWeight(rollout.phase) ? 0 : static_cast<size_t>(rollout.step_index) + 1;
  if (!has_steps || next >= steps.size()) return fmt::format("give version {} all requests now", rollout.candidate);
  return fmt::format("give version {} {} of the requests now", rollout.candidate, Percent(steps[next].weight_percent));
}

std::string PauseEffect(const api::RolloutStatus& rollout) {
  if (rollout.weight_percent == 0)
    return fmt::format("keep version {} without requests until resume", rollout.candidate);
  return fmt::format("keep version {} at {} of the requests until resume", rollout.candidate,
                     Percent(rollout.weight_percent));
}

std::string AbortEffect(const api::RolloutStatus& rollout) {
  if (rollout.stable == 0) return "end the rollout";
  return fmt::format("end the rollout; version {} gets all requests", rollout.stable);
}

// How an undo changes to the version.
std::string ChangeTo(const std::optional<int64_t>& version, const api::Model& model, TimePoint now) {
  const std::optional<rollout::Warm> warm = rollout::WarmOf(model.spec.rollout, model.status, now);
  if (!warm || version != warm->version) return "by a rollout without steps, because it is not loaded any more";
  return fmt::format("at once; it stays loaded for {} more", api::RoughDuration(warm->until - now));
}

std::string UndoEffect(const api::Model& model, TimePoint now) {
  const std::optional<int64_t> previous = rollout::PreviousOf(model.status);
  const std::string what = previous ? fmt::format("return to version {}", *previous) : "return to the version before";
  return what + " " + ChangeTo(previous, model, now);
}

// The versions that the manifest names and that have failed; the newest failed one if the manifest names none.
std::string RetryEffect(const api::Model& model) {
  std::set<int64_t> named;
  for (const auto& [_, version] : model.spec.version_labels) named.insert(version);
  if (model.spec.version) named.insert(*model.spec.version);
  std::set<int64_t> failed;
  for (const api::FailedVersion& one : model.status.failed) {
    const bool is_named = named.contains(one.version) || !model.spec.version;
    if (is_named && one.generation == model.metadata.generation) failed.insert(one.version);
  }
  return fmt::format("try version {} again", fmt::join(failed, " and "));
}

std::string EffectOf(const std::string& verb, const api::Model& model, TimePoint now) {
  const api::RolloutStatus& rollout = model.status.rollout;
  if (verb == "promote") return PromoteEffect(model);
  if (verb == "resume") return "end the pause; the rollout goes on as the evidence allows";
  if (verb == "pause") return PauseEffect(rollout);
  if (verb == "abort") return AbortEffect(rollout);
  if (verb == "undo") return UndoEffect(model, now);
  if (verb == "retry") return RetryEffect(model);
  if (verb == "validate")
    return fmt::format("run the golden set of version {} on its nodes now", model.status.stable_version);
  return "";
}

// The command that returns to the version which an undo left. The console has no button for it.
std::optional<Offer> WayBack(const api::Model& model, TimePoint now) {
  const std::optional<int64_t> left = rollout::VersionToReturnTo(model);
  if (!left || model.status.observed_generation < model.metadata.generation) return std::nullopt;
  const char* direction = *left > model.status.stable_version ? "forward" : "back";
  return Offer{"undo", fmt::format("go {} to version {} again, {}", direction, *left, ChangeTo(left, model, now)), "",
               fmt::format(" --to {}", *left)};
}

}  // namespace

std::string UndoWarning(const api::Model& model) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const std::optional<int64_t> previous = rollout::PreviousOf(model.status);
  if (!rollout::WouldUndoLeaveAGoodVersion(model.status) || !previous) return "";
  return fmt::format(
      "version {} has been rolled back already; undo would replace version {}, which serves, by version {}",
      rollout.candidate, model.status.stable_version, *previous);
}

std::string CommandLine(const std::string& verb, const api::Metadata& metadata, const std::string& place) {
  const std::string namespace_ = metadata.namespace_ == "default" ? "" : " -n " + metadata.namespace_;
  return "longshore " + verb + " " + metadata.name + namespace_ + place;
}

bool IsAccepted(const api::Model& model, const std::string& verb) {
  return model.status.observed_generation >= model.metadata.generation &&
         std::ranges::count(model.status.accepted_commands, verb) > 0;
}

std::vector<Offer> OffersOf(const api::Model& model, TimePoint now) {
  std::vector<Offer> offers;
  for (const std::string& verb : model.status.accepted_commands) {
    // While a rollout is under way, undo does the same as abort.
    const bool repeats = verb == "undo" && IsAccepted(model, "abort");
    if (IsAccepted(model, verb) && !repeats)
      offers.push_back({verb, EffectOf(verb, model, now), verb == "undo" ? UndoWarning(model) : ""});
  }
  return offers;
}

std::string OffersText(const api::Model& model, const std::string& place, TimePoint now) {
  std::vector<Offer> offers = OffersOf(model, now);
  if (const auto way_back = WayBack(model, now)) offers.insert(offers.begin(), *way_back);
  const auto line = [&](const Offer& offer) { return CommandLine(offer.verb, model.metadata, offer.flag + place); };
  size_t width = 0;
  for (const Offer& offer : offers) width = std::max(width, line(offer).size());
  std::string text;
  for (const Offer& offer : offers) text += fmt::format("  {:<{}}   {}\n", line(offer), width, offer.effect);
  return text;
}

}  // namespace longshore::cli::text
