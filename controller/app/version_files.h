// The files of a version, if they are in a folder of this host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"

namespace longshore::app {

// Returns when the folder of the version or a file in it was last changed, replaced, added, moved or removed; nullopt
// if the folder does not exist or `source_uri` is not a folder. Copying tools may set the time of modification back, so
// this is the time of the change of status (st_ctime), which no program can set.
std::optional<TimePoint> FilesChangedAt(const std::string& source_uri, int64_t version);

}  // namespace longshore::app
