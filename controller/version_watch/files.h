// The files that may have made a version fail: its folder, or the golden set of its Model.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "common/base/clock.h"
#include "common/base/path.h"

namespace longshore::version_watch {

struct Place {
  Path base;  // The folder with the versions of the Model.
  int64_t version = 0;
  std::string golden_set{};  // A path below the base; "": this is the folder of the version.

  friend bool operator==(const Place&, const Place&) = default;
};

struct Look {
  // A text that changes when a file is written, replaced, added or removed, its owner, mode or links change, or a
  // symbolic link or a folder leads to other files.
  std::string stamp;
  // The newest of these changes. Copying tools set the time of modification back, so this is the time of the change of
  // status (st_ctime), which no program can set.
  TimePoint changed_at{};
};

// How the files are read. Each call may take as long as the file system does.
struct Reader {
  std::function<Look(const Place&)> look;
  // The digest of the files' names and bytes; "" if they do not exist, cannot be read or change meanwhile. Returns soon
  // after `cancelled` becomes true.
  std::function<std::string(const Place&, const std::atomic<bool>& cancelled)> digest;
};

Reader RealReader();

}  // namespace longshore::version_watch
