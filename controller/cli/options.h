// The command line of `longshore` as a value.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/base/path.h"
#include "controller/cli/command/command_request.h"
#include "controller/cli/input/selector.h"
#include "controller/cli/input/targets.h"
#include "controller/cli/logs/lines.h"

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
  kCheckVersion,
  kCompletion,
  kSetVersion,
  kEvents,
  kRollout,
  kLint,
  kDoctor,
  kConsole,
  kLogs
};
enum class Output { kText, kWide, kName, kJson, kYaml, kJsonPath };

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

// The options of kLogs.
struct LogsOptions {
  std::string of;  // A node, "fleet/NAME" or "controller".
  logs::Wanted wanted;
};

struct Options {
  Verb verb = Verb::kGet;
  // Where the objects are: the controller's directory of manifests, or a cluster. If none of these is set, the cluster
  // is the one that kubectl would use.
  Path manifests;
  Path kubeconfig;
  std::string context;                 // A context of the kubeconfig; "": its current one.
  std::vector<input::Target> targets;  // For get, describe, delete, and for status of several.
  std::string name;                    // For all other commands: the model; "" means all models and fleets.
                                       // For kCompletion: the shell.
  std::string namespace_;              // "": the default of the place, see OpenPlace.
  bool all_namespaces = false;
  input::Selector selector;         // For get, describe, status and delete.
  bool all = false;                 // For delete: all objects of the kinds.
  bool ignore_not_found = false;    // For get and delete: a missing object is not an error.
  command::CommandRequest command;  // For kCommand and kValidate.
  std::vector<std::string> files;   // Manifests, or files to import; "-" means standard input.
  bool recursive = false;           // Read folders of manifests with their subfolders.
  bool dry_run = false;
  bool skip_sources = false;  // For kLint.
  int64_t version = 0;        // For kSetVersion.
  int console_port = 8620;    // For kConsole on a cluster: the port on this host.
  std::string fleet;
  std::string batching_file;
  std::string monitoring_file;
  std::string secret;  // For kEnsureCa.
  ProfileOptions profile;
  LogsOptions logs;
  CheckVersionOptions check_version;
  Output output = Output::kText;
  std::string json_path;    // The template of kJsonPath.
  bool no_headers = false;  // Print tables without their first line.
  bool yes = false;         // For delete and undo: ask no question.
  // Set by the program: whether the output is a terminal, whether it shows colours and other characters than ASCII, and
  // whether a person can answer questions.
  bool is_terminal = false;
  bool has_colors = false;
  bool has_unicode = false;
  bool can_ask = false;
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
}  // namespace longshore::cli
