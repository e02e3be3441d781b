// Whether this host has what a Model refers to: its folder, its version and its golden set.
#pragma once

#include <string>
#include <vector>

#include "controller/api/types.h"

namespace longshore::cli::input {

struct FieldProblem {
  std::string path;  // "spec.version".
  std::string why;
};
// Returns "spec.version: why".
std::string ToString(const FieldProblem& problem);

// Whether the source is a folder of another host, for example of a node of a cluster: not even its parent is here.
bool IsElsewhere(const api::ModelSpec& spec);

// Checks a file:// source: it must be a folder of versions with the wanted version and the golden set. Returns nothing
// for other sources.
std::vector<FieldProblem> SourceProblems(const api::ModelSpec& spec);

// Returns a problem if the metric cannot judge the golden set of a file:// source: then a rollout begins, and its
// rehearsal fails.
std::vector<FieldProblem> MetricProblems(const api::ModelSpec& spec);

// Returns a problem for each label whose version is not in the folder of a file:// source; nothing if the folder has no
// version at all. A rollout does not need these versions.
std::vector<FieldProblem> LabelProblems(const api::ModelSpec& spec);

}  // namespace longshore::cli::input
