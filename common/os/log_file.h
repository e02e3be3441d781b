// A log file of limited size, to which the output of this process goes, including that of crashes.
//
// The log of one run of a program has at most two files: PATH, and PATH.1 with the lines before. Before a program is
// started again, KeepLogOfLastRun moves them aside, so that the log of the run that ended can still be read.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore {

struct LogPaths {
  explicit LogPaths(const Path& log);

  Path log;
  Path older;     // The part of the run's log before `log`.
  Path previous;  // The same two files of the run before.
  Path previous_older;
};

// Makes the log of the run that has ended the previous one, and removes the log of the run before it. Needs no space on
// the disk. Does nothing without a log.
Status KeepLogOfLastRun(const LogPaths& paths);

// Not thread-safe.
class LogFile {
 public:
  struct Options {
    Path path{};
    size_t bytes_max = size_t{8} << 20;  // The limit of each of the two files.
    std::vector<int> descriptors{};      // These descriptors then write to the file too, for example standard error.
  };

  // Continues an existing file.
  static Result<std::unique_ptr<LogFile>> Open(const Options& options);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Appends a line. If it does not fit, begins a new file first. Returns ResourceExhausted if the disk is full; the
  // lines that are already in the files are kept.
  Status Write(std::string_view line);

 private:
  explicit LogFile(const Options& options) : options_(options), paths_(options.path) {}
  Status BeginFile();
  void BeginNextFile();

  const Options options_;
  const LogPaths paths_;
  int file_ = -1;
};

// The same as InitLog of log.h, but the lines go to the file. Lines that cannot be written, for example because the
// disk is full, are counted in the first line that can.
Status InitLogInFile(const std::string& program, const std::string& level, std::unique_ptr<LogFile> file);

}  // namespace longshore
