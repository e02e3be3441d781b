#include "controller/cli/doctor/objects.h"

#include "controller/cli/text/text.h"

namespace longshore::cli::doctor {
namespace {

std::string NameOf(const char* kind, const api::Metadata& metadata) {
  return fmt::format("{} {}/{}", kind, metadata.namespace_, metadata.name);
}

Verdict VerdictOf(text::Standing standing) {
  switch (standing) {
    case text::Standing::kAsWanted: return Verdict::kOk;
    case text::Standing::kUnderWay: return Verdict::kWarning;
    case text::Standing::kFailed: break;
  }
  return Verdict::kFailure;
}

}  // namespace

Findings CheckFleets(const std::vector<api::ServingFleet>& fleets, const text::HostSeen& seen,
                     const std::string& place) {
  Findings findings;
  for (const api::ServingFleet& fleet : fleets) {
    const text::Report report = text::ReportOf(fleet, seen);
    Finding finding{kObjects, NameOf("fleet", fleet.metadata), VerdictOf(report.standing), Sentence(report.why), ""};
    const bool has_none = fleet.status.ready_replicas == 0 && fleet.spec.replicas_min > 0;
    if (has_none) {
      finding.verdict = Verdict::kFailure;
      finding.cause = "no node is ready: " + finding.cause;
    }
    if (finding.verdict != Verdict::kOk)
      finding.cure =
          fmt::format("longshore describe fleet {} -n {}{}", fleet.metadata.name, fleet.metadata.namespace_, place);
    findings.push_back(std::move(finding));
  }
  return findings;
}

Findings CheckModels(const std::vector<api::Model>& models, const text::HostSeen& seen, const std::string& place) {
  Findings findings;
  for (const api::Model& model : models) {
    const text::Report report = text::ReportOf(model, seen);
    Finding finding{kObjects, NameOf("model", model.metadata), VerdictOf(report.standing), Sentence(report.why), ""};
    // A rollout under way needs no action.
    const bool rolls_out = report.standing == text::Standing::kUnderWay && model.status.stable_version != 0 &&
                           api::IsUnderWay(model.status.rollout.phase);
    if (rolls_out) finding.verdict = Verdict::kOk;
    // The object is as the manifest wants it, but its answers are wrong, or fewer nodes serve it than should.
    const bool has_trouble = text::FailsGoldenSet(model) || text::LacksNodes(model);
    if (finding.verdict == Verdict::kOk && has_trouble) finding.verdict = Verdict::kWarning;
    if (finding.verdict != Verdict::kOk)
      finding.cure = fmt::format("longshore explain {} -n {}{}", model.metadata.name, model.metadata.namespace_, place);
    findings.push_back(std::move(finding));
  }
  return findings;
}

Finding CheckUnreadable(const api::Key& key, const std::string& why) {
  return {kObjects, api::ToString(key), Verdict::kFailure, Sentence("it cannot be read: " + why),
          "restore the file from a backup, or delete the object and apply its manifest again"};
}

Finding CheckUnlisted(const std::string& kind, const Error& error) {
  return {kObjects, kind + "s", Verdict::kNotKnown, Sentence(error.message),
          "see the other findings: they name the cause"};
}

}  // namespace longshore::cli::doctor
