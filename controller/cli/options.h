// The command line of `longshore` as a value.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "controller/cli/command_request.h"

namespace longshore::cli {

enum class Verb {
  kGet,
  kDescribe,
  kExplain,
  kStatus,
  kApply,
  kDiff,
  kDelete,
  kCommand,
  kValidate,
  kImportTfServing,
  kImportKserve,
  kEnsureCa,
  kProfile,
  kCheckVersion
};
enum class Output { kText, kJson, kYaml };

// The options of kProfile.
struct ProfileOptions {
  std::string address;  // "host:port" of the node's administration listener.
  std::string model;    // "": all models.
  int runs = 20;
  int seconds = 30;
  std::string out = "trace.json";  // "-": standard output.
  Path token_file;
};

// The options of kCheckVersion. Those that are set replace the rules of the Model.
struct CheckVersionOptions {
  Path dir;
  std::string model;  // "": the only one in the manifest, or none.
  Path golden;
  Path stable;
  std::optional<std::string> metric;
  std::optional<double> minimum;
  std::optional<double> relative_tolerance;
  int rows = 5;
  bool json = false;
};

struct Options {
  Verb verb = Verb::kGet;
  // Where the objects are: the controller's directory of manifests, or a cluster. If none of these is set, the cluster
  // is the one that kubectl would use.
  Path manifests;
  Path kubeconfig;
  std::string context;     // A context of the kubeconfig; "": its current one.
  std::string kind;        // For get, describe and delete: kModelKind or kServingFleetKind.
  std::string name;        // "": all objects of the kind.
  std::string namespace_;  // "": the default of the place, see OpenPlace.
  bool all_namespaces = false;
  CommandRequest command;  // For kCommand and kValidate.
  std::string file;        // For kApply, kDiff and kCheckVersion; "-": standard input.
  bool dry_run = false;
  std::vector<std::string> files;  // For an import; "-": standard input.
  std::string fleet;
  std::string batching_file;
  std::string monitoring_file;
  std::string secret;  // For kEnsureCa.
  ProfileOptions profile;
  CheckVersionOptions check_version;
  Output output = Output::kText;
  bool watch = false;
  bool wait = false;
  std::chrono::milliseconds timeout{10'000};
};

// Exit codes for scripts.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNotFound = 3;
inline constexpr int kExitTimeout = 4;
// For status on a host: no controller is running, so the status may be out of date.
inline constexpr int kExitNoController = 5;
// Exit codes of diff.
inline constexpr int kExitDiffers = 1;
inline constexpr int kExitNoDiff = 2;
// Returns the exit code for an error; for diff at least 2, so that 1 always means a difference.
int ExitCodeOf(const Error& error, Verb verb = Verb::kGet);

// Returns nullopt after printing the help or version that was asked for. Returns InvalidArgument, with a message for
// the user, if the command line is wrong.
Result<std::optional<Options>> ParseOptions(int argc, const char* const* argv);

}  // namespace longshore::cli
