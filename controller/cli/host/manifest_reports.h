// Which manifest files of a host have not been applied as they are now, for the command line and the console. Pure.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "common/base/path.h"
#include "controller/api/types.h"
#include "controller/cli/text/standing.h"
#include "controller/store/local/manifest_files.h"

namespace longshore::cli::host {

// Returns all objects that the file defines now, or that were applied from it. Empty if the file was never valid.
std::set<api::Key> KeysOf(const store::local::ManifestFile& file);

// Returns the reports about the files of the directory `dir` that contain a mistake or no object, that no controller
// has read yet, or whose objects could not be applied. `files`: all files of the directory; `is_wanted` selects those
// to report on, without it all. The epoch of the result is 0.
text::HostSeen SeenOf(const std::vector<store::local::ManifestFile>& files, const Path& dir,
                      const std::function<bool(const store::local::ManifestFile&)>& is_wanted = {});

}  // namespace longshore::cli::host
