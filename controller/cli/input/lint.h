// Checks manifests without a controller: their fields, and whether their source folders, versions and golden sets exist
// here.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "controller/cli/input/files.h"
#include "controller/cli/input/ports.h"
#include "controller/cli/input/served_names.h"

namespace longshore::cli::input {

enum class Sources { kCheck, kSkip };

struct Checked {
  std::vector<std::string> objects;   // What is defined: "Model default/digits".
  std::vector<std::string> problems;  // One line each, with file and line.
  std::vector<std::string> notes;     // The same for what could not be checked.
};

// What a host has.
struct HostObjects {
  Fleets fleets{};               // The applied ones.
  Models models{};               // The applied ones.
  std::set<api::Key> defined{};  // The objects of its manifest files, also of those that are not applied yet.
};

struct LintOptions {
  std::string namespace_ = "default";  // The namespace of objects that do not name one.
  Sources sources = Sources::kCheck;
  std::optional<HostObjects> host{};  // The host for which the files are; nullopt if none is known.
};

// Goes on after a problem. Two Models with one served name on one fleet are a problem. If the files define fleets, but
// not the fleet of a Model, that is a note. kCheck: a file:// source must be a folder of versions on this host, which
// has the wanted version, the versions of the labels, and the golden set. A folder whose parent is not on this host
// either is a folder of another host, for example of a node of a cluster. kCheck also compares the Models with the
// objects of the host, where a fleet that does not exist is a problem, and finds fleets with the same port, which is a
// problem if a source is a folder or the host is known, else a note. It does neither if a file has a folder of another
// host or a field that only fleets in a cluster have: there each fleet has its own addresses.
Checked Lint(const std::vector<File>& files, const LintOptions& options);

}  // namespace longshore::cli::input
