// The parsed command line of `longshore golden` and `longshore check-version`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "longshore/control.pb.h"

namespace longshore::golden_files {

enum class Verb { kFromLog, kFromCsv, kFromModel, kShow, kCheck, kCheckVersion };

struct LogOptions {
  std::vector<Path> files;
  size_t sample = 0;  // How many records to draw; 0: all.
  uint64_t seed = 0;
  bool deduplicate = false;
  std::string served_name;  // "": the files must have requests to one model only.
};

struct CsvOptions {
  Path file;
  char separator = ',';
  std::vector<std::string> columns;  // Each has the form INPUT=COLUMN,...
  std::vector<std::string> labels;   // Each has the form COLUMN or OUTPUT=COLUMN,...
  std::vector<std::string> classes;  // The names of the classes, in the order of the columns of the scores.
};

struct ModelInputs {
  std::string file;                // --inputs.
  std::vector<std::string> files;  // Each has the form NAME=FILE.npy.
  int64_t batch = 1;               // The number of rows of a record.
};

struct VersionOptions {
  control::Validation validation;
  bool warm_up = true;
  Path stable;  // The folder of the version that serves; "": its signatures are not compared.
  std::string why_no_stable = "no version that serves is known";
  std::string rules;  // Where the rules come from, for people.
  size_t rows = 5;    // How many failing records to show.
};

struct Options {
  Verb verb = Verb::kShow;
  Path dir;               // The folder of a version, or of a model.
  std::string signature;  // "": serving_default; for from-log: all signatures.
  Path out;
  Path file;           // The golden set that show and check read.
  size_t records = 3;  // For show: how many records to print.
  bool json = false;
  LogOptions log;
  CsvOptions csv;
  ModelInputs inputs;
  std::vector<std::string> outputs;  // The outputs to record; empty: all.
  VersionOptions version;
};

// Exit codes, for scripts.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // For check-version: the version would not pass.
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNotFound = 3;  // For check-version: the version or its golden set does not exist.

// Requires: argv[1] is "golden" or "check-version". Returns nullopt after printing the help; InvalidArgument, with a
// message for the user, if the command line is not valid.
Result<std::optional<Options>> ParseOptions(int argc, const char* const* argv);

}  // namespace longshore::golden_files
