// Checks of a host: ports, disks and manifest files. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "controller/cli/doctor/finding.h"

namespace longshore::cli::doctor {

// A process that listens on a port.
struct Holder {
  int64_t pid = 0;  // 0: a process of another user.
  std::string program{};

  friend auto operator<=>(const Holder&, const Holder&) = default;
};

struct Port {
  std::string what;  // "gRPC of fleet default/main".
  int number = 0;
  std::set<Holder> holders{};
  std::set<int64_t> owners{};  // The processes that should listen on it.
  bool is_needed = true;       // Whether one of them must be listening now.
  bool is_certain = true;      // False: only the default number, of a controller that does not run.
  std::string setting{};       // Where to change the number: "spec.ports.grpc of the fleet".
};
Finding CheckPort(const Port& port);

struct Folder {
  std::string what;  // "source of Model default/digits".
  std::string path;
  Status read{};  // Why it cannot be read.
  uint64_t available_bytes = 0;
  uint64_t capacity_bytes = 0;
};
Finding CheckFolder(const Folder& folder);

struct Manifest {
  std::string file;
  std::string mistake{};               // Why a controller cannot apply it.
  std::vector<std::string> refused{};  // Objects that the controller could not apply.
  std::string defined_twice{};         // "Model default/iris is already defined in iris.yaml"; "" if no refused one is.
  std::string differs{};               // How the file and an object differ, as a sentence; "" if no object does.
  bool is_taken = true;                // Whether a controller has read its current text.
};
// `place`: arguments by which other commands find the folder.
Findings CheckManifests(const std::string& dir, const std::vector<Manifest>& manifests, const std::string& place);

}  // namespace longshore::cli::doctor
