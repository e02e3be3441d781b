// What `longshore doctor` says about one thing that it checked.
#pragma once

#include <string>
#include <vector>

namespace longshore::cli::doctor {

// kNotKnown: what the check needs cannot be read, for example because the user has no right to read it.
enum class Verdict { kOk, kWarning, kFailure, kNotKnown };
// Returns "ok", "warning", "failure" or "not known".
const char* VerdictName(Verdict verdict);

// The groups, which are the headings of the output.
inline constexpr const char* kKubernetes = "Kubernetes";
inline constexpr const char* kController = "Controller";
inline constexpr const char* kRights = "Rights";
inline constexpr const char* kManifests = "Manifests";
inline constexpr const char* kPorts = "Ports";
inline constexpr const char* kFolders = "Folders";
inline constexpr const char* kObjects = "Fleets and models";
inline constexpr const char* kWorkloads = "Pods and Services";
inline constexpr const char* kPrometheus = "Prometheus";
inline constexpr const char* kClocks = "Clocks and certificates";

struct Finding {
  std::string group;
  std::string name;  // What was checked: "Clock of the API server".
  Verdict verdict = Verdict::kOk;
  std::string cause;   // One sentence: what was seen.
  std::string cure{};  // What to do, with a command to copy; "" with kOk.

  friend bool operator==(const Finding&, const Finding&) = default;
};

using Findings = std::vector<Finding>;

void Append(Findings& all, Findings more);

// Returns the text with a full stop at its end, unless it ends like a sentence.
std::string Sentence(std::string text);

}  // namespace longshore::cli::doctor
