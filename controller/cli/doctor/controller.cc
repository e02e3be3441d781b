#include "controller/cli/doctor/controller.h"

#include "controller/cli/text/text.h"

namespace longshore::cli::doctor {
namespace {

// A controller reconciles at least every second; one pass may take some seconds if the disk is slow.
constexpr std::chrono::seconds kReconcileAgeMax{30};

Finding Life(Verdict verdict, std::string cause, std::string cure = "") {
  return {kController, "Sign of life", verdict, std::move(cause), std::move(cure)};
}

}  // namespace

Finding CheckHostLife(const HostLife& life, TimePoint now) {
  const std::string age = text::Age(life.last_active_at, now);
  const bool is_known = life.last_active_at != TimePoint{};
  if (!life.is_running) {
    return Life(Verdict::kFailure,
                "no controller is running" + (is_known ? fmt::format("; one was last active {} ago", age) : "") + ".",
                fmt::format("longshore-controller --state_dir=DIR --manifests={}", life.manifests));
  }
  if (is_known && now - life.last_active_at >= kReconcileAgeMax) {
    return Life(Verdict::kFailure,
                fmt::format("process {} is running, but it has not reconciled any object for {}.", life.pid, age),
                fmt::format("read its log, then restart it: kill {}", life.pid));
  }
  if (!life.answer) {
    return Life(Verdict::kWarning,
                fmt::format("process {} is running and was last active {} ago, but does not answer: {}.", life.pid, age,
                            life.answer.error().message),
                fmt::format("run longshore doctor again in {} s; if it still does not answer, restart it: kill {}",
                            kReconcileAgeMax.count(), life.pid));
  }
  return Life(Verdict::kOk, fmt::format("process {} is running and reconciles.", life.pid));
}

Finding CheckLeaseLife(const LeaseLife& life, TimePoint now) {
  if (life.name.empty() && !life.pods) {
    return Life(Verdict::kNotKnown,
                fmt::format("no fleet names a controller's Lease, and the pods of all namespaces cannot be listed: {}.",
                            life.pods.error().message),
                "ask an administrator to run longshore doctor");
  }
  if (life.name.empty()) {
    return Life(Verdict::kFailure, "no fleet names a controller's Lease, and no pod of a controller was found.",
                "helm install longshore CHART --namespace longshore --create-namespace");
  }
  const std::string namespace_ = life.name.substr(0, life.name.find('/'));
  const std::string cure =
      fmt::format("kubectl -n {} get pods -l app.kubernetes.io/name=longshore-controller", namespace_);
  if (!life.read && life.read.error().code == Code::kNotFound)
    return Life(Verdict::kFailure, fmt::format("its Lease {} does not exist.", life.name), cure);
  if (!life.read) {
    return Life(Verdict::kNotKnown,
                fmt::format("its Lease {} cannot be read: {}.", life.name, life.read.error().message),
                "ask an administrator for the chart's Role longshore-controller-lease-view");
  }
  if (life.is_held) return Life(Verdict::kOk, fmt::format("{} holds the Lease {}.", life.holder, life.name));
  if (life.renewed_at == TimePoint{})
    return Life(Verdict::kFailure, fmt::format("no controller has held its Lease {}.", life.name), cure);
  return Life(Verdict::kFailure,
              fmt::format("its Lease {} was last renewed {} ago.", life.name, text::Age(life.renewed_at, now)), cure);
}

Findings CheckVersions(const std::string& own, const std::vector<ProgramVersion>& programs) {
  Findings findings;
  for (const ProgramVersion& one : programs) {
    const std::string name = "Version of " + one.program;
    if (!one.version) {
      findings.push_back({kController, name, Verdict::kNotKnown, one.version.error().message + ".",
                          "compare it by hand with longshore --version"});
    } else if (*one.version != own) {
      findings.push_back({kController, name, Verdict::kWarning,
                          fmt::format("it is {}, and this command line is {}.", *one.version, own),
                          "use the programs of one release: docs/install-cluster.md says how to upgrade"});
    } else {
      findings.push_back({kController, name, Verdict::kOk, *one.version + ", as this command line."});
    }
  }
  return findings;
}

}  // namespace longshore::cli::doctor
