// The command line of `longshore` as a value.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/file.h"

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
  kImportTfServing,
  kImportKserve,
  kEnsureCa,
  kProfile
};
enum class Output { kText, kJson, kYaml };

// Of kProfile.
struct ProfileOptions {
  std::string address;  // "host:port" of the node's administration.
  std::string model;    // "": all of them.
  int runs = 20;
  int seconds = 30;
  std::string out = "trace.json";  // "-": standard output.
  Path token_file;
};

struct Options {
  Verb verb = Verb::kGet;
  // Where the objects are: the controller's directory of manifests, or a cluster. With neither, the cluster that
  // kubectl would ask.
  Path manifests;
  Path kubeconfig;
  std::string context;     // Of the kubeconfig; "": its current one.
  std::string kind;        // Of get, describe, delete: kModelKind or kServingFleetKind.
  std::string name;        // "": all of the kind.
  std::string namespace_;  // "": that of the place, see OpenPlace.
  bool all_namespaces = false;
  std::string command;  // Of kCommand: "promote", ...
  std::string file;     // Of kApply and kDiff; "-": standard input.
  bool dry_run = false;
  std::vector<std::string> files;  // Of an import; "-": standard input.
  std::string fleet;
  std::string batching_file;
  std::string monitoring_file;
  std::string secret;  // Of kEnsureCa.
  ProfileOptions profile;
  Output output = Output::kText;
  bool watch = false;
  bool wait = false;
  std::chrono::milliseconds timeout{10'000};
};

// Exit codes, so that scripts can tell what happened.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNotFound = 3;
inline constexpr int kExitTimeout = 4;
// status on a host: no controller is running, so what it shows may be out of date.
inline constexpr int kExitNoController = 5;
// Of diff.
inline constexpr int kExitDiffers = 1;
inline constexpr int kExitNoDiff = 2;
// A diff that cannot be made ends with 2 or more, so that 1 is a difference and nothing else.
int ExitCodeOf(const Error& error, Verb verb = Verb::kGet);

// nullopt: help was asked for and printed. InvalidArgument when it cannot be understood, ready to be shown.
Result<std::optional<Options>> ParseOptions(int argc, const char* const* argv);

}  // namespace longshore::cli
