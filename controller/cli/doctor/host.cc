#include "controller/cli/doctor/host.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "controller/cli/host/definitions.h"

namespace longshore::cli::doctor {
namespace {

constexpr double kAvailableWarning = 0.1;
constexpr double kAvailableFailure = 0.02;
constexpr double kMebibyte = 1024.0 * 1024.0;

std::string NameOf(const Holder& holder) {
  return holder.pid == 0 ? "a process of another user" : fmt::format("{} (process {})", holder.program, holder.pid);
}

std::string Space(uint64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / kMebibyte;
  return mebibytes < 1024 ? fmt::format("{:.0f} MiB", mebibytes) : fmt::format("{:.1f} GiB", mebibytes / 1024);
}

// Returns the mistakes, which have a line each, without the name of the file: "line 3: spec.colour is not a field".
std::string WithoutFile(const std::string& mistake, const std::string& file) {
  std::string text;
  std::istringstream lines(mistake);
  for (std::string line; std::getline(lines, line);) {
    const bool names = line.starts_with(file + ":");
    text += (text.empty() ? "" : "\n") + (names ? "line " + line.substr(file.size() + 1) : line);
  }
  return text;
}

Finding CheckManifest(const std::string& dir, const Manifest& manifest, const std::string& place) {
  const std::string path = dir + "/" + manifest.file;
  Finding finding{kManifests, manifest.file, Verdict::kOk, "", ""};
  if (!manifest.mistake.empty()) {
    finding.verdict = Verdict::kFailure;
    finding.cause = Sentence(WithoutFile(manifest.mistake, manifest.file));
    finding.cure = "longshore lint -f " + path;
  } else if (!manifest.defined_twice.empty()) {
    finding.verdict = Verdict::kFailure;
    finding.cause = manifest.defined_twice + ".";
    finding.cure = host::kDefinedTwiceRemedy;
  } else if (!manifest.refused.empty()) {
    finding.verdict = Verdict::kFailure;
    finding.cause = fmt::format("the controller could not apply {}.", fmt::join(manifest.refused, ", "));
    finding.cure = "longshore logs controller" + place + ", which has the reason";
  } else if (!manifest.is_taken) {
    finding.verdict = Verdict::kWarning;
    finding.cause = "no controller has read its current text.";
    finding.cure = "longshore status --wait" + place + ", which waits for the controller";
  } else if (!manifest.differs.empty()) {
    finding.verdict = Verdict::kWarning;
    finding.cause = manifest.differs + ".";
    finding.cure = fmt::format("longshore diff -f {}{}, then apply the file, or change it", path, place);
  }
  return finding;
}

}  // namespace

Finding CheckPort(const Port& port) {
  Finding finding{kPorts, fmt::format("{}, {}", port.number, port.what), Verdict::kOk, "", ""};
  const auto foreign =
      std::ranges::find_if(port.holders, [&](const Holder& holder) { return !port.owners.contains(holder.pid); });
  if (foreign != port.holders.end() && !port.is_certain) {
    finding.verdict = Verdict::kNotKnown;
    finding.cause = fmt::format("no controller is running, so its port is not known; {} listens on the default one.",
                                NameOf(*foreign));
    finding.cure = fmt::format("if the controller is to use this port, start it with another {}", port.setting);
  } else if (foreign != port.holders.end()) {
    finding.verdict = foreign->pid == 0 ? Verdict::kNotKnown : Verdict::kFailure;
    finding.cause = fmt::format("{} listens on it.", NameOf(*foreign));
    finding.cure = foreign->pid == 0
                       ? fmt::format("sudo ss -ltnp 'sport = :{}', to see which one", port.number)
                       : fmt::format("ps -fp {}, to see what it is; stop it, or change {}", foreign->pid, port.setting);
  } else if (port.holders.empty() && port.is_needed) {
    finding.verdict = Verdict::kFailure;
    finding.cause = "nothing listens on it.";
    finding.cure = "read the log of the controller: it says why it could not listen";
  } else {
    finding.cause = port.holders.empty() ? "it is free." : NameOf(*port.holders.begin()) + " listens on it.";
  }
  return finding;
}

Finding CheckFolder(const Folder& folder) {
  Finding finding{kFolders, fmt::format("{}, {}", folder.path, folder.what), Verdict::kOk, "", ""};
  if (!folder.read) {
    finding.verdict = Verdict::kFailure;
    finding.cause = folder.read.error().message + ".";
    finding.cure = "ls -ld " + folder.path;
    return finding;
  }
  const double share = folder.capacity_bytes == 0
                           ? 1
                           : static_cast<double>(folder.available_bytes) / static_cast<double>(folder.capacity_bytes);
  finding.cause = fmt::format("{} of its disk are free ({:.0f} %).", Space(folder.available_bytes), share * 100);
  if (share < kAvailableWarning) {
    finding.verdict = share < kAvailableFailure ? Verdict::kFailure : Verdict::kWarning;
    finding.cure = fmt::format("du -xh --max-depth=1 {} | sort -h, to see what to remove", folder.path);
  }
  return finding;
}

Findings CheckManifests(const std::string& dir, const std::vector<Manifest>& manifests, const std::string& place) {
  Findings findings;
  for (const Manifest& manifest : manifests) {
    Finding finding = CheckManifest(dir, manifest, place);
    if (finding.verdict != Verdict::kOk) findings.push_back(std::move(finding));
  }
  if (manifests.empty()) {
    findings.push_back({kManifests, dir, Verdict::kWarning, "it contains no manifest.",
                        "cp deploy/samples/fleet.yaml deploy/samples/model-latest.yaml " + dir});
  } else if (findings.empty()) {
    findings.push_back({kManifests, dir, Verdict::kOk, fmt::format("all {} files are applied.", manifests.size()), ""});
  }
  return findings;
}

}  // namespace longshore::cli::doctor
