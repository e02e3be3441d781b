// The files of a version, if they are in a folder of this host.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::app {

// Returns when the folder of the version, a file in it or the golden set was last changed, replaced, added, moved or
// removed; nullopt if the folder does not exist or the source is not a folder. The removal of a golden set is no
// change. Copying tools may set the time of modification back, so this is the time of the change of status (st_ctime),
// which no program can set.
std::optional<TimePoint> FilesChangedAt(const api::ModelSpec& spec, int64_t version);

}  // namespace longshore::app
