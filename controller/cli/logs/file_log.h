// Reads the log of a program of this host, which it writes as common/os/log_file.h describes.
#pragma once

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "controller/cli/logs/lines.h"
#include "controller/cli/logs/printer.h"

namespace longshore::cli::logs {

// Prints the lines that are wanted. With `follow`, prints later ones too, across restarts of the program, until the
// folder of the log is removed. Returns NotFound if the log does not exist, and PermissionDenied if this user may not
// read it.
Status PrintFileLog(const Path& log, const Wanted& wanted, TimePoint now, Printer& printer);

}  // namespace longshore::cli::logs
